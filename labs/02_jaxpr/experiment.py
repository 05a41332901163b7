"""How many equations a Python loop of n turns leaves, and how many `fori_loop` does."""

from __future__ import annotations


def measure(jk, quick: bool) -> dict[str, list[float]]:
    """Count the equations of the programs, including equations of inner programs."""
    turns = [1, 2, 5, 10, 20, 50, 100] if quick else [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    return {
        "turns of the loop": [float(n) for n in turns],
        "Python's for (equations)": [float(equations(jk, python_loop, n)) for n in turns],
        "lax.fori_loop (equations)": [float(equations(jk, fori_loop, n)) for n in turns],
    }


def python_loop(jk, n: int, x):
    for _ in range(n):
        x = x * 2
    return x


def fori_loop(jk, n: int, x):
    return jk.lax.fori_loop(0, n, lambda i, x: x * 2, x)


def equations(jk, function, n: int) -> int:
    """Return how many equations the program of a function has."""
    return count(jk, jk.make_jaxpr(lambda x: function(jk, n, x))(1.0))


def count(jk, program) -> int:
    return len(program.eqns) + sum(count(jk, inner) for inner in jk.jaxpr.subjaxprs(program))


def plot(data: dict[str, list[float]], axes) -> None:
    """Draw two lines over the number of turns, both axes logarithmic."""
    turns, python, fori = data.values()
    axes.loglog(turns, python, "o-", color="#D55E00", label="for _ in range(n)")
    axes.loglog(turns, fori, "s--", color="#0072B2", label="lax.fori_loop(0, n, ...)")
    axes.set_xlabel("turns of the loop, n")
    axes.set_ylabel("equations of the program")
    axes.set_title("Python's loops are unrolled while a function is traced")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend()

"""The README.md of a workspace: the learner's guide."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.manifest import Lab

_GUIDE = """\
# Build the JIT yourself

You know what `jax.jit` does: it makes a Python function fast. Here you write how. Each lab takes a few functions out of
`jitkit`, a `jax.jit` in plain Python, and asks you to write them back. When all are written, it is yours: `jitkit export`
hands you a complete JIT with your functions in it.

## How it goes

0. Run `jitkit tour` once: it follows one function through every stage, in less than a minute. That is what you are going to
   write.
1. Read the lab's `README.md`. It takes ten minutes.
2. Run `jitkit` in a terminal beside your editor. It watches.
3. Write a function in the lab's `exercises.py`, and save. The verdict comes at once: what passes, and for the
   first check that fails, the difference and your line.
4. Stuck? Run `jitkit hint`. It goes one step further each time: a question, the idea, what *your* code does, a skeleton. Hints cost
   nothing.
5. At the end of a lab, guess first, then see your own JIT measured on your own machine.

What you have not written yet is taken from the reference, so any lab can be done on its own, in any order. Each verdict says
which functions were yours.

## Commands

| | |
|---|---|
| `jitkit` | watch: check an exercise whenever you save it |
| `jitkit check 02.3` | check one exercise; with `02` a lab, without an argument all that you have written |
| `jitkit hint 02.3` | show one more hint |
| `jitkit show 02.3` | show the task; `--jaxpr` and `--hlo` show the programs in its checks; `--plot` runs the lab's experiment |
| `jitkit show 02.3 --solution` | show the reference's function, why it is so, and where JAX does it (before yours passes: `--give-up`) |
| `jitkit show check_arrays` | show the parameters of a helper that a stub imports, and what it does |
| `jitkit run FILE` | run a program of yours with your finished functions in place |
| `jitkit python` | open a Python prompt with them in place |
| `jitkit status` | say where you are |
| `jitkit reset 02.3` | restore the stub; your version goes to `.jitkit/backups` |
| `jitkit start` | after an upgrade: add what is new, and leave what is yours |
| `jitkit export my-jit` | write your own `jitkit`, as a complete package |

## Your own JIT, at your fingertips

A function that passes is yours to use. `jitkit run FILE` runs any program of yours, `import jitkit as jax` and so on, with all
functions that pass in the place of the reference's; `jitkit python` is a prompt with them. Both say first which are in place, and
why one is not. Nothing has to be installed or exported for it.

Each lab is a notebook, too: `lab.ipynb`, for Jupyter (`pip install jupyterlab`, then `jupyter lab`). What passes there goes
into `exercises.py` as long as there is only its stub, and what passes here is in place there. `from jitkit.kata import mine`, as the
first line of any notebook in this folder, does for the notebook what `jitkit run` does for a program.

Prefer a debugger or an IDE's test explorer? `pytest` in this folder runs the same checks; `pytest 02_jaxpr` those of a lab.
You may add helpers and imports to `exercises.py`; leave the parameters of the functions as they are.

Progress is in `.jitkit/state.json`. Nothing leaves this folder, and nothing you wrote is ever overwritten.

## The labs

"""


def guide_text(labs: Sequence[Lab]) -> str:
    """Return the guide, with a line for each lab."""
    rows = [
        f"| [{lab.number} {lab.title}]({lab.name}/README.md) | {lab.summary} | {len(lab.exercises)} | {lab.minutes} minutes |"
        for lab in labs
    ]
    return _GUIDE + "\n".join(["| lab | | exercises | about |", "|---|---|---|---|", *rows]) + "\n"

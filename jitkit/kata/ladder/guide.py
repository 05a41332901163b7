"""The files that a folder of the ladder begins with: the first file of the package, README.md, test_ladder.py."""

FIRST_FILE = '''"""{name}: a JIT of my own.

`import xla` is the way to the machine. The pages of `ladder/` say what comes next; begin with ladder/01.
"""
'''
README = """# {name}: a JAX of my own

An empty file becomes a package that traces, compiles, differentiates and batches. This folder has:

- `{name}.py`: yours. It may import files beside it, or become a folder `{name}/` with as many files as you like.
- `ladder/01_one_door.md` and so on: the pages of the rungs, which are the steps of this exercise. After rung 18 the package is whole.
  On rungs 19 to 23 you write the compiler, too, and XLA runs nothing: you can begin rung 19 once rung 11 passes, and rung 22 once
  rung 14 does. A page says what is asked and shows an idea, not a design: classes, files and names inside are your own. Beside each
  page are its programs, which the checks run. They import `climbing` and others, which only the checker has; the first lines of
  `ladder/01_one_door_programs.py` say what is compared, and how.
- `xla.py`: given, the only way to the machine. Read it; verdicts use the given one, whatever you do to yours. So is `cc.py`, for the
  rungs from 19 on: it needs a C compiler.
- `test_ladder.py`: for those who prefer pytest. `pytest` runs the programs of the rung that you are at, and of all below.

```sh
jitkit                 # watches: on each save, the programs of your rung and of all below it
jitkit check 7         # the same once, for rungs 01 to 07: what worked before must still work
jitkit check 19        # runs rungs 01 to 11 and 19, and those of 12 to 18 that have passed before
jitkit hint 7          # three hints a rung, one further each time; --step 1 shows one again
jitkit show 7          # its page; with --solution --give-up, how the reference does it
jitkit status          # where you are
jitkit show --report   # what your package can do, measured beside JAX
```

The first check of a rung takes longer: jitkit computes what is right, and keeps it. So does the first that passes: the programs run
again, with other numbers and more random programs. Within the package, `import jax` and `import jitkit` raise an ImportError that says
why. In another terminal you may ask JAX whatever you like, and should:
`print(jax.make_jaxpr(f)(x))`, `print(jax.jit(f).lower(x).as_text())`.
"""
TESTS = '''"""The programs of the ladder, for pytest."""

import pathlib
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent
sys.path[:] = [path for path in sys.path if path != str(FOLDER)]  # or a json.py of yours would be taken for Python's

from jitkit.kata.pytest.rungs import programs_of


@pytest.mark.parametrize(("program", "problem"), programs_of(FOLDER))
def test_program(program, problem):
    assert not problem, problem
'''

"""`python -m grading`: the instructor's commands"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .authoring import commands as authoring
from .grader import commands as grader


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser("python -m grading", description="The instructor's side of jitkit.")
    commands = parser.add_subparsers(dest="command", required=True)
    authoring.add_parsers(commands)
    grader.add_parsers(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit status: 0, all is well; 1, something is not; 2, the command makes no sense."""
    arguments = make_parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except (*authoring.ERRORS, *grader.ERRORS) as error:
        print(error, file=sys.stderr)
        return 1
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

"""`explore`: function + arguments -> Exploration, which notebooks show and `save` writes

JAX: jax/_src/api.py:make_jaxpr
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..base.rich_display import RichDisplay, escape
from ..base.whole_file import write_whole
from ..pjit.function import unbound
from ..targets import TARGETS, find
from . import beside, bundle, calls, ours, own_c, real_jax
from .compiling import compile_all
from .model import FORMAT, model
from .subject import Subject

_HEIGHT = 760  # pixels in a notebook


class Exploration(RichDisplay):
    """A page of the Explorer. `data` is its content, as `docs/explorer.md` describes it; `html` is the page; `save`
    writes it.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @property
    def html(self) -> str:
        """The page, as the text of one HTML file."""
        return bundle.page(self.data)

    def save(self, path: str | os.PathLike[str] | None = None) -> pathlib.Path:
        """Write the page to a file, or as `NAME.html` into a folder (by default the current one). Return the file's
        path.

        The file is written whole or not at all. Raise FileExistsError if it exists and is not a page of the Explorer,
        OSError if it cannot be written.
        """
        return save(self.html, path, self.data["function"])

    def against(self, other: Exploration) -> str:
        """Return one HTML page that shows this page and another side by side, with the differences in figures and in
        the jaxprs.
        """
        return beside.page(self.data, other.data, [self.html, other.html])

    def __repr__(self) -> str:
        failure = self.data["failure"]
        if failure is not None:
            return f"<Exploration of {self.data['function']}: {failure['type']} while {failure['stage']}>"
        there = [target["name"] for target in self.data["targets"] if "error" not in target]
        return (
            f"<Exploration of {self.data['signature']}: {len(self.data['equations'])} equations, compiled for "
            f"{', '.join(there) or 'nothing'}; save() writes the page>"
        )

    def _repr_html_(self) -> str:
        # The frame keeps styles and scripts of page and notebook apart. A notebook that is not trusted shows no frames
        # and no styles, only the sentence.
        return (
            "<style>.jitkit-untrusted{display:none}</style>"
            '<p class="jitkit-untrusted">What the Explorer found is shown in a notebook that is trusted: run the cell, or File &gt; Trust '
            "Notebook.</p>"
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" title="{escape(self.data["function"])}" '
            f'style="box-sizing:border-box;width:100%;height:{_HEIGHT}px;border:1px solid #8885;border-radius:8px"></iframe>'
        )


def save(html: str, path: str | os.PathLike[str] | None, name: str) -> pathlib.Path:
    """Write a page as `Exploration.save` does; return its path. `name` is the function's name. Raise FileExistsError if
    the file exists and is not such a page.
    """
    where = pathlib.Path(path or ".")
    if where.is_dir():
        where /= f"{file_name(name)}.html"
    if where.is_file() and not bundle.is_page(where.read_text(encoding="utf-8", errors="replace"), FORMAT):
        raise FileExistsError(f"{where} exists and is not a page of the Explorer, so it was not overwritten.")
    write_whole(where, html.encode("utf-8"))
    return where


def explore(
    function: Callable[..., Any],
    *args: Any,
    targets: Iterable[str] | None = None,
    time_limit: float | None = None,
    **kwargs: Any,
) -> Exploration:
    """Return a page on a function: its source, jaxpr, StableHLO, optimised HLO and machine code, linked line by line,
    and, for a function of jitkit's, its calls that missed the cache so far.

    Args:
      function: a function, jitted or not, that uses jitkit; or the result of `jax.jit`, which is shown with JAX.
      *args, **kwargs: its arguments, or `ShapeDtypeStruct`s in their place. Nothing is run.
      targets: one or several names of `jitkit.targets.TARGETS`, such as "tpu:v5e"; all by default. If a target's
        compiler is not installed, its tab says how to get it. The page of a jitkit function always has the C of our own
        compiler, or says why there is none; the target "c" adds its assembly.
      time_limit: seconds for one compilation (default: 100). The tab of a target that takes longer says so.

    Returns:
      An `Exploration`: notebooks show it, `save()` writes it. If the function cannot be traced, the page shows the
      jaxpr up to the error, and the error.

    Raises:
      ValueError: a target that does not exist, or a negative time limit.
    """
    names = [targets] if isinstance(targets, str) else [*TARGETS, own_c.NAME] if targets is None else targets
    chosen = [own_c.TARGET if name == own_c.NAME else find(name) for name in dict.fromkeys(names)]
    if time_limit is not None and time_limit < 0:
        raise ValueError(f"explore expects a time_limit of 0 seconds or more, got {time_limit}")
    subject = subject_of(function, args, kwargs)
    seen = calls.seen_by(function) if subject.library == "jitkit" else None
    return exploration(subject, [target.name for target in chosen], time_limit, seen)


def subject_of(
    function: Callable[..., Any], args: Iterable[Any], kwargs: dict[str, Any], of_jax: bool | None = None
) -> Subject:
    """Trace a function for these arguments, and return it as a Subject. `of_jax` says whether JAX traces it; if it is
    None, JAX traces the functions that `jax.jit` made.
    """
    function, args = unbound(function, tuple(args))
    take = real_jax.subject if (real_jax.made_by_jax(function) if of_jax is None else of_jax) else ours.subject
    return take(function, args, kwargs)


def exploration(
    subject: Subject,
    targets: Iterable[str],
    time_limit: float | None = None,
    seen: dict[str, Any] | None = None,
    keep: bool = True,
    answered: Callable[[str], object] = lambda target: None,
) -> Exploration:
    """Return the page of a subject, compiled for these targets.

    With `keep=False`, compilers' answers are neither read from the user's cache folder nor kept there. `answered` is
    called with the name of each target that is done, from another thread.
    """
    asked = list(targets)
    chosen = [find(name) for name in asked if name != own_c.NAME]
    if subject.stablehlo is None:
        return Exploration(model(subject, [], {}, seen))
    with ThreadPoolExecutor(1) as pool:  # runs at the same time as the compilers of the targets
        c = pool.submit(own_c.panes, subject, own_c.NAME in asked)
        if own_c.NAME in asked:
            c.add_done_callback(lambda _: answered(own_c.NAME))
        answers = compile_all(subject.name, subject.stablehlo, chosen, time_limit, keep, answered)
        return Exploration(model(subject, chosen, answers, seen, c=c.result()))


def file_name(function: str) -> str:
    """Return a function's name as the name of a file, at most 80 characters: `<lambda>` becomes `lambda`. If nothing is
    left, return `function`.
    """
    plain = "".join(c if c.isalnum() or c in "-_" else "_" for c in function).strip("_")
    return plain[:80] or "function"

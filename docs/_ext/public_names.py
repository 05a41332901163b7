"""the packages of jitkit -> generated/api/*.md: every public name with its signature, its docstring, and a link to its source

Names come lazily in jitkit, so they are asked for one by one, as a program would; docstrings are Markdown with Google's sections.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import sys
from types import ModuleType
from typing import Any

from generated import ROOT, write
from places import line_of

PACKAGES = (
    "jitkit", "jitkit.numpy", "jitkit.numpy.linalg", "jitkit.numpy.fft", "jitkit.lax", "jitkit.lax.linalg", "jitkit.random", "jitkit.nn",
    "jitkit.nn.initializers", "jitkit.scipy.special", "jitkit.scipy.stats.norm", "jitkit.tree_util", "jitkit.tree", "jitkit.flatten_util",
    "jitkit.debug", "jitkit.stages", "jitkit.sharding", "jitkit.ops", "jitkit.errors", "jitkit.dtypes", "jitkit.targets", "jitkit.bench",
)  # fmt: skip
# of the first package: what everybody looks for
FIRST = ("jit", "grad", "value_and_grad", "vmap", "explain", "explore", "make_jaxpr", "jacfwd", "jacrev", "jvp", "vjp")
_SECTION = re.compile(r"^(Args|Returns|Yields|Raises|Attributes):[ \t]*$", re.MULTILINE)
_ITEM = re.compile(r"^ {2,4}(\*{0,2}\w[\w, *]*):\s", re.MULTILINE)


def names_of(module: ModuleType) -> list[str]:
    """Return the public names of a package that are written in jitkit, without modules, in alphabetical order; for
    `jitkit` itself some names come first.
    """
    names = [name for name in dir(module) if not name.startswith("_") and name != "annotations"]
    first = FIRST if module.__name__ == "jitkit" else ()
    ours = (name for name in names if _is_ours(getattr(module, name)))
    return sorted(ours, key=lambda name: (first.index(name) if name in first else len(first), name.lower()))


def _is_ours(value: Any) -> bool:
    return not isinstance(value, ModuleType) and str(getattr(value, "__module__", "")).startswith("jitkit")


def page_of(package: str) -> str:
    """The page of one package."""
    module = importlib.import_module(package)
    entries = [entry(package, name, getattr(module, name)) for name in names_of(module)]
    first = (inspect.getdoc(module) or "").partition("\n\n")[0]
    return "\n\n".join([f"# `{package}`", markdown(first), *entries]) + "\n"


def entry(package: str, name: str, value: Any) -> str:
    """One name."""
    is_class = inspect.isclass(value)
    kind = "class" if is_class else "function" if callable(value) else "data"
    text = markdown(_docstring(value))
    parts = [text, _source(name, value)]
    if is_class and not issubclass(value, Exception):
        parts += [_member(member, vars(value)[member]) for member in vars(value) if not member.startswith("_")]
    body = "\n\n".join(filter(None, parts))
    return f"::::::{{py:{kind}}} {package}.{name}{'' if kind == 'data' else signature(value)}\n\n{body}\n::::::"


def _member(name: str, value: Any) -> str:
    if isinstance(value, property):
        text = markdown(inspect.getdoc(value) or "")
        return f":::::{{py:property}} {name}\n\n{text}\n:::::" if text else ""
    function = getattr(value, "__func__", value)
    if not inspect.isfunction(function) or not function.__doc__:
        return ""
    return f":::::{{py:method}} {name}{signature(function)}\n\n{markdown(inspect.getdoc(function) or '')}\n:::::"


def _docstring(value: Any) -> str:
    if not callable(value):
        return ""
    text = inspect.getdoc(value) or ""
    return "" if text == inspect.getdoc(type(value)) and not inspect.isclass(value) else text


def signature(value: Any) -> str:
    """`(x, axis=None, *, keepdims=False)`: names and defaults; types are in the source."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [p.replace(annotation=p.empty, default=_Shown(p.default)) for p in found.parameters.values()]
    if parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    return str(inspect.Signature(parameters))


class _Shown:
    """A default as it is written in a signature: short, and without addresses."""

    def __new__(cls, value: Any) -> Any:
        if value is inspect.Parameter.empty or isinstance(value, (int, float, str, bool, type(None), tuple)):
            return value
        return super().__new__(cls)

    def __init__(self, value: Any) -> None:
        self.text = getattr(value, "__name__", None) or "..."

    def __repr__(self) -> str:
        return self.text


def markdown(docstring: str) -> str:
    """A docstring as Markdown: its sections become bold words with lists below."""
    pieces = _SECTION.split(docstring)
    done = [pieces[0].strip()]
    for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
        block, rest = _indented(body)
        done.append(f"**{title}**\n\n{_items(block)}")
        done.append(rest.strip())
    return "\n\n".join(filter(None, done))


def _indented(body: str) -> tuple[str, str]:
    """The lines of a section, and what follows it."""
    lines = body.lstrip("\n").splitlines()
    end = next((i for i, line in enumerate(lines) if line and not line.startswith(" ")), len(lines))
    return "\n".join(lines[:end]), "\n".join(lines[end:])


def _items(block: str) -> str:
    if not _ITEM.search(block):
        return inspect.cleandoc(block)
    items = []
    for line in inspect.cleandoc(f"\n{block}").splitlines():
        named = re.match(r"(\*{0,2}\w[\w, *]*): ?(.*)", line)
        if named:
            items.append(f"- `{named[1]}`: {named[2]}")
        else:
            items.append(f"  {line.strip()}" if line.strip() else "")
    return "\n".join(items)


def _source(name: str, value: Any) -> str:
    """A link to the line where a name is given its value: in the module that it says it is from, or in another one that has it."""
    own = sys.modules.get(str(getattr(value, "__module__", "")))
    others = [
        module
        for key, module in sorted(sys.modules.items())
        if key.startswith("jitkit.") and vars(module).get(name) is value
    ]
    for module in filter(None, [own, *others]):
        path = pathlib.Path(str(module.__file__)).resolve()
        for written in (name, getattr(value, "__qualname__", name)):
            if line_of(path, written):
                place = path.relative_to(ROOT).as_posix()
                return f"{{source}}`{place} <{place}#{written}>`"
    return ""


def _write(app: Any) -> None:
    for package in PACKAGES:
        write(f"api/{package}.md", page_of(package))
    rows = "\n".join(PACKAGES)
    table = "\n".join(f"| [`{p}`]({p}.md) | {_first_line(p)} |" for p in PACKAGES)
    write(
        "api/index.md",
        f"""# Public names

Each package carries the names of the JAX package that it stands for. What of JAX's is here, and was compared:
[parity](../../parity.md).

| package | |
|---|---|
{table}

```{{toctree}}
:hidden:

{rows}
```
""",
    )


def _first_line(package: str) -> str:
    text = (inspect.getdoc(importlib.import_module(package)) or "").partition("\n\n")[0]
    return " ".join(text.split()).replace("|", "\\|")


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}

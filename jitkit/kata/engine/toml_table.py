"""a TOML file -> its values, asked for key by key; what is missing, of a wrong type or not known is an error that names its line"""

from __future__ import annotations

import datetime
import difflib
import math
import pathlib
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, Self, TypeVar

_T = TypeVar("_T")
_D = TypeVar("_D")

Keys = tuple[
    str | int, ...
]  # of the tables around and its own, outermost first; of a list of tables the number, counted from 1

_KINDS = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "a table",
    datetime.datetime: "a date with a time",
}  # fmt: skip


class ManifestError(Exception):
    """A TOML file that does not say what it must: which file and line, and what is missing or wrong."""


class TomlTable:
    """A table of a file. Leaving it as a context without an error, ManifestError for a key that nobody has asked for.

    Args:
      data: what is in it.
      file, text: where it is from.
      keys: where it is there; `called` is how errors call it, besides.
    """

    def __init__(self, data: dict[str, Any], file: pathlib.Path, text: str, keys: Keys = (), called: str = "") -> None:
        self.data = data
        self.file = file
        self.text_of_file = text
        self.keys = keys
        self.called = called
        self.known: set[str] = set()

    @classmethod
    def of_file(cls, file: pathlib.Path) -> Self:
        """The whole of a file. ManifestError for one that cannot be read."""
        try:
            text = file.read_text(encoding="utf-8")
            return cls(tomllib.loads(text), file, text)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ManifestError(f"{file}: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for key in () if kind is not None else self.data.keys() - self.known:
            raise self.error(f"`{key}` is not known here" + near(key, self.known, "`"), key)

    def error(self, sentence: str, *keys: str) -> ManifestError:
        """An error at a key of this table, or of tables in it; at the table, without one."""
        line = line_of(self.text_of_file, (*self.keys, *keys))
        return ManifestError(f"{self.file}:{line}{self.called}: {sentence}")

    def get(self, key: str, kind: type[_T], default: _D) -> _T | _D:
        """A value of this kind, or the default where there is none. A whole number is a number, too."""
        self.known.add(key)
        if key not in self.data:
            return default
        value: Any = self.data[key]
        right = isinstance(value, (int, float) if kind is float else kind) and (kind is bool) == isinstance(value, bool)
        if not right or (isinstance(value, float) and not math.isfinite(value)):
            raise self.error(f"`{key}` should be {_KINDS[kind]}, and is {value!r}", key)
        found: _T = value
        return found

    def text(self, key: str) -> str:
        """A text, which is not empty."""
        value = self.get(key, str, "").strip()
        if not value:
            raise self.error(f"`{key}` should be a text", key)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, which is not empty."""
        value: list[Any] = self.get(key, list, [])
        if not value or not all(isinstance(x, str) for x in value):
            raise self.error(f"`{key}` should be a list of texts", key)
        return tuple(x.strip("\n") for x in value)

    def number(self, key: str) -> int:
        """A positive whole number."""
        value = self.get(key, int, 0)
        if value < 1:
            raise self.error(f"`{key}` should be a positive whole number", key)
        return value

    def table(self, key: str) -> TomlTable:
        """The table of this name; an empty one where there is none."""
        return TomlTable(self.get(key, dict, {}), self.file, self.text_of_file, (*self.keys, key))

    def named(self, key: str) -> Iterator[tuple[str, TomlTable]]:
        """The tables in the table of this name, by their names."""
        around = self.table(key)
        return ((name, around.table(name)) for name in around.data)

    def tables(self, key: str) -> Iterator[TomlTable]:
        """The table of this name, or the tables; none where there is none. Errors call each by its id, or count."""
        self.known.add(key)
        value = self.data.get(key, [])
        found = [value] if isinstance(value, dict) else value
        if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
            raise self.error(f"`{key}` should be a table", key)
        for i, item in enumerate(found, 1):
            keys, called = ((key, i), f"{key} {item.get('id', i)}") if item is not value else ((key,), f"[{key}]")
            yield TomlTable(item, self.file, self.text_of_file, (*self.keys, *keys), f", {called}")


def near(word: str, words: Collection[str], quote: str = "'") -> str:
    """What to add to a sentence about a word that is not known: which one may have been meant, or nothing."""
    found = difflib.get_close_matches(word, words, n=1)
    return f"; is it {quote}{found[0]}{quote}?" if found else ""


def line_of(text: str, keys: Keys) -> int:
    """The line of a TOML file where a key is, or else the innermost of the tables around it that has a line; 1 where none has."""
    best, depth, section, counts, quotes = 1, 0, Keys(), Counter[Keys](), ""
    for i, line in enumerate(text.splitlines(), 1):
        if quotes:  # in a text of several lines
            quotes = "" if line.count(quotes) % 2 else quotes
            continue
        header = re.fullmatch(r"\s*\[(.+)\]\s*(#.*)?", line)
        left, equals, _ = line.partition("=")
        quotes = next((q for q in ('"""', "'''") if line.count(q) % 2), "")
        if header:
            here = _keys_in(f"[{header[1]}]")
            if header[1].startswith("["):
                counts[here] += 1
                here = (*here, counts[here])
            section = here
        elif equals:
            here = (*section, *_keys_in(f"{left}=0"))
        else:
            continue
        common = min(len(here), len(keys))
        if depth < common and here[:common] == keys[:common]:
            best, depth = i, common
    return best


def _keys_in(text: str) -> Keys:
    """The keys of a header or of a line of TOML, outermost first; nothing where it is neither."""
    try:
        data: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return ()
    keys = []
    while isinstance(data, dict) and data:
        key, data = next(iter(data.items()))
        keys.append(key)
    return tuple(keys)

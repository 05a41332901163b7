"""a TOML file -> its values, read key by key; an error names the line with a missing or unknown key, or a value of a wrong
type
"""

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
]  # the path of a key: the keys of the tables around it, outermost first, and its own; in a list of tables also the number, from 1

_KINDS = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "a table",
    datetime.datetime: "a date with a time",
}  # fmt: skip


class ManifestError(Exception):
    """Raised if a TOML file has a fault: it names the file, the line, and what is missing or wrong."""


class TomlTable:
    """A table of a file. In a `with` block it raises ManifestError, at the end of the block, for a key that the block has not read.

    Args:
      data: the table's contents.
      file, text: the file, and its whole text, in which the lines for errors are found.
      keys: the path of the table in the file.
      called: what errors say after the line, such as `, exercise 02.1`.
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
        """Read a whole file. Raise ManifestError if it cannot be read."""
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
        """Return an error at a key of this table; several `keys` are the path to a key of a table inside. Without a key, return an error
        at the table.
        """
        line = line_of(self.text_of_file, (*self.keys, *keys))
        return ManifestError(f"{self.file}:{line}{self.called}: {sentence}")

    def get(self, key: str, kind: type[_T], default: _D) -> _T | _D:
        """Return a value of this kind, or the default if it is missing. A whole number counts as a number. Raise ManifestError for a
        value of another kind, and for nan and infinity.
        """
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
        """Return a string without spaces at its ends. Raise ManifestError if it is missing or empty."""
        value = self.get(key, str, "").strip()
        if not value:
            raise self.error(f"`{key}` should be a text", key)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings as a tuple, without line breaks at their ends. Raise ManifestError if the list is missing or empty, or
        contains anything else.
        """
        value: list[Any] = self.get(key, list, [])
        if not value or not all(isinstance(x, str) for x in value):
            raise self.error(f"`{key}` should be a list of texts", key)
        return tuple(x.strip("\n") for x in value)

    def number(self, key: str) -> int:
        """Return a positive whole number. Raise ManifestError if it is missing or smaller than 1."""
        value = self.get(key, int, 0)
        if value < 1:
            raise self.error(f"`{key}` should be a positive whole number", key)
        return value

    def table(self, key: str) -> TomlTable:
        """Return the table of this name; an empty one if it is missing. Raise ManifestError if it is not a table."""
        return TomlTable(self.get(key, dict, {}), self.file, self.text_of_file, (*self.keys, key))

    def named(self, key: str) -> Iterator[tuple[str, TomlTable]]:
        """Return pairs: the name of each table in the table `key`, and that table."""
        around = self.table(key)
        return ((name, around.table(name)) for name in around.data)

    def tables(self, key: str) -> Iterator[TomlTable]:
        """Yield the table or tables of this name, if there are any. Errors name each by its id, or its number. Raise ManifestError for
        anything else.
        """
        self.known.add(key)
        value = self.data.get(key, [])
        found = [value] if isinstance(value, dict) else value
        if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
            raise self.error(f"`{key}` should be a table", key)
        for i, item in enumerate(found, 1):
            keys, called = ((key, i), f"{key} {item.get('id', i)}") if item is not value else ((key,), f"[{key}]")
            yield TomlTable(item, self.file, self.text_of_file, (*self.keys, *keys), f", {called}")


def near(word: str, words: Collection[str], quote: str = "'") -> str:
    """Return the end of a sentence about an unknown word: `; is it 'jit'?` for the nearest known word, "" if none is near."""
    found = difflib.get_close_matches(word, words, n=1)
    return f"; is it {quote}{found[0]}{quote}?" if found else ""


def line_of(text: str, keys: Keys) -> int:
    """Return the line of a key in a TOML file, or else of the innermost table around it that has a line; 1 if none has."""
    best, depth, section, counts, quotes = 1, 0, Keys(), Counter[Keys](), ""
    for i, line in enumerate(text.splitlines(), 1):
        if quotes:  # in a string of several lines
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
    """Return the keys of a header or a line of TOML, outermost first; () if it is neither."""
    try:
        data: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return ()
    keys = []
    while isinstance(data, dict) and data:
        key, data = next(iter(data.items()))
        keys.append(key)
    return tuple(keys)

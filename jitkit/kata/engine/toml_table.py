"""a TOML file -> its values, asked for key by key; what is missing, of a wrong type or not known is an error that names its place"""

from __future__ import annotations

import difflib
import pathlib
import tomllib
from collections.abc import Iterator
from typing import Any, Self


class ManifestError(Exception):
    """A TOML file that does not say what it must: which file, and what is missing or wrong."""


class TomlTable:
    """A table of a file. Leaving it as a context without an error, ManifestError for a key that nobody has asked for.

    Args:
      place: how errors call it.
    """

    def __init__(self, place: str, data: dict[str, Any]) -> None:
        self.place = place
        self.data = data
        self.known: set[str] = set()

    @classmethod
    def of_file(cls, file: pathlib.Path) -> Self:
        """The whole of a file. ManifestError for one that cannot be read."""
        try:
            return cls(f"{file}", tomllib.loads(file.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ManifestError(f"{file}: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for key in () if kind is not None else self.data.keys() - self.known:
            near = difflib.get_close_matches(key, self.known, n=1)
            raise self.error(f"`{key}` is not known here" + (f"; is it `{near[0]}`?" if near else ""))

    def error(self, sentence: str) -> ManifestError:
        """An error at this place."""
        return ManifestError(f"{self.place}: {sentence}")

    def _value(self, key: str) -> Any:
        self.known.add(key)
        return self.data.get(key)

    def text(self, key: str) -> str:
        """A text, which is not empty."""
        value = self._value(key)
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"`{key}` should be a text")
        return value.strip()

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, which is not empty."""
        value = self._value(key)
        if not isinstance(value, list) or not value or not all(isinstance(x, str) for x in value):
            raise self.error(f"`{key}` should be a list of texts")
        return tuple(x.strip("\n") for x in value)

    def number(self, key: str) -> int:
        """A positive whole number."""
        value = self._value(key)
        if type(value) is not int or value < 1:
            raise self.error(f"`{key}` should be a positive whole number")
        return value

    def flag(self, key: str) -> bool:
        """Whether something is so; not, where nothing is said."""
        value = self._value(key)
        if not isinstance(value, bool | None):
            raise self.error(f"`{key}` should be true or false")
        return bool(value)

    def tables(self, key: str) -> Iterator[TomlTable]:
        """The table of this name, or the tables; none where there is none. Errors call each by its id, or count."""
        value = self._value(key)
        found = [] if value is None else [value] if isinstance(value, dict) else value
        if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
            raise self.error(f"`{key}` should be a table")
        for i, item in enumerate(found, 1):
            yield TomlTable(
                f"{self.place}, {key} {item.get('id', i)}" if item is not value else f"{self.place}, [{key}]", item
            )

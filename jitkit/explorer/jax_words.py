"""JAX's message on a miss -> its sentences, the kind of reason, and the earlier miss that it speaks of

JAX's log names the difference from the closest earlier call, but not that call. `Seen` keeps the arguments of each
miss, as text. The call that JAX means has the types and static values that the message calls "before"; of several such
calls, it is the one that differs least from the new one.

JAX: jax/_src/interpreters/partial_eval.py:explain
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

AGAIN = "seen another function defined on the same line"
WEAK, STRONG = "{weak_type=True}", "{weak_type=False}"
_PLACE = re.compile(r"CACHE MISS at (.*?):?$")
TYPE = re.compile(r"\* at (.+?), now (.+?) and before (.+?)(?:https://\S*)?$")
STATIC = re.compile(r"\* at input path (\S+), now .* and before .* with pytree metadata Static\(val=(.*)\), so ")
_STEP = re.compile(r"\[([^\]]+)\]")
_BOILERPLATE = ("for ", "all previously seen cache keys differ")
_UNSAID = "JAX does not say why"
UNAVAILABLE = "cache miss explanation unavailable"  # JAX says this about static values since 0.12
_KINDS = (  # (text, kind): the first text that the message contains says its kind
    ("Tracing context", "another option"),
    ("Static(val=", "another static value"),
    ("different input pytree", "another structure"),
    ("different input types", "other types"),
    ("Debug info", "other names of arguments"),
    ("never seen function", "never seen"),
)


class Code(NamedTuple):
    """What a static function does, as text, and where it was written."""

    body: str
    place: str


class Seen(NamedTuple):
    """The arguments of a miss, as text: the type of each traced leaf, by its name, and each static value, by its argument."""

    number: int
    types: Mapping[str, str]
    statics: Mapping[str, str]
    parameters: Sequence[str] = ()  # the names of the function's parameters, in order
    codes: Mapping[str, Code] = {}  # the code of each static function

    def distance(self, other: Seen) -> int:
        """Return the number of leaves and static values in which two calls differ."""
        pairs = ((self.types, other.types), (self.statics, other.statics))
        return sum(one.get(name) != two.get(name) for one, two in pairs for name in one.keys() | two.keys())


def without_false_repeats(text: str, places: set[str]) -> str:
    """Return JAX's message. If no function was new at this place since the recording began, leave out the suspicion
    that the function is defined again and again: JAX remembers the places of earlier recordings. Add the place to
    `places`.
    """
    first, _, rest = text.partition("\n")
    if "never seen function" not in rest:
        return text
    found = _PLACE.search(first)
    place = found[1] if found else first
    is_again = place in places
    places.add(place)
    at = rest.find(AGAIN)
    return text if is_again or at < 0 else f"{first}\n{rest[: rest.rfind(chr(10), 0, at)]}"


def sentences(said: Sequence[str], name: str) -> tuple[str, ...]:
    """Return the lines of JAX's first message that names the function, or of the first message if none does. Leave out
    the place, which the page shows, and the lines that every message has.
    """
    of_it = [text for text in said if f" {name} " in text] or list(said)
    lines = [line.strip() for text in of_it[:1] for line in text.splitlines()[1:]]
    lines = [part for line in lines for part in line.replace("}https://", "}\nhttps://").split("\n")]
    kept = [line for line in lines if not line.startswith(_BOILERPLATE)]
    return tuple(["JAX says:", *(f"  {line}" for line in kept)] if kept else ["JAX does not say why."])


def kind(lines: Sequence[str], now: Seen, closest: Seen | None) -> str:
    """Return the kind of reason in a few words: the one in JAX's sentences, or else what differs from the closest
    miss.
    """
    text = "\n".join(lines)
    said = next((word for mark, word in _KINDS if mark in text), "")
    if said or closest is None:
        return said or _UNSAID
    if now.statics != closest.statics:
        return "another static value"
    if now.types.keys() != closest.types.keys():
        return "another structure"
    return "other types" if now.types != closest.types else _UNSAID


def spoken_of(lines: Sequence[str], now: Seen, earlier: Sequence[Seen]) -> Seen | None:
    """Return the earlier miss with which JAX's sentences compare; None if there is none."""
    types = [found.groups() for line in lines if (found := TYPE.search(line)) and "input path" not in line]
    statics = [found.groups() for line in lines if (found := STATIC.search(line))]
    before = [
        seen
        for seen in earlier
        if all(seen.types.get(name) == _with_weakness(was, now.types.get(name, "")) for name, _, was in types)
        and all(seen.statics.get(argument_at(path, seen.parameters)) == was for path, was in statics)
    ]
    return min(before or earlier, key=lambda seen: (now.distance(seen), -seen.number), default=None)


def _with_weakness(before: str, now: str) -> str:
    """Return the type that JAX's sentence calls "before", in the form that `Seen` has: JAX mentions the weak type only
    if it differs from the new one.
    """
    if "{weak_type" in before:
        return before.removesuffix(STRONG)
    return before + (WEAK if now.endswith(WEAK) else "")


def argument_at(path: str, parameters: Sequence[str]) -> str:
    """Return the name of the argument at a path of `(args, kwargs)`: "[1]['steps']" is steps."""
    steps = _STEP.findall(path)
    if len(steps) < 2:
        return ""
    if steps[0] == "0":
        index = int(steps[1]) if steps[1].isdigit() else len(parameters)
        return parameters[index] if index < len(parameters) else ""
    return str(steps[1]).strip("'")

"""Pitfalls of jit, by theme: each a pair of small programs, one that falls in and one that does not. In the order of reading:

pair                          one pitfall
identity, shapes, types, trees, statics, settings     what makes another signature
purity, loops, transforms, waiting                    what else surprises
source                        the text of a pair's programs, as a learner reads them
measured, drawn               `jitkit bench pitfalls`: the table, and its figures
"""

from __future__ import annotations

from . import identity, loops, purity, settings, shapes, statics, transforms, trees, types, waiting
from .pair import Pitfall as Pitfall

THEMES = {
    "a new function every time": identity.PITFALLS,
    "a new shape": shapes.PITFALLS,
    "a new type": types.PITFALLS,
    "a new tree": trees.PITFALLS,
    "a new static value": statics.PITFALLS,
    "another option, another place": settings.PITFALLS,
    "read once, done once": purity.PITFALLS,
    "loops": loops.PITFALLS,
    "derivatives and batches": transforms.PITFALLS,
    "waiting and copying": waiting.PITFALLS,
}
BY_NAME = {pitfall.name: pitfall for pitfalls in THEMES.values() for pitfall in pitfalls}

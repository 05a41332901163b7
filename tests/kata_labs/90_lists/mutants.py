"""Wrong answers, for the tests of hints."""

from jitkit.kata.mutants import edit, mutant

edit(
    "90.1", "the mask does not matter", "When do you look at the mask?",
    "for flag in mask]", "for flag in sorted(mask)]",
)  # fmt: skip


@mutant("90.1", "True comes from the first list", "Which list is called `chosen`?")
def swapped(mask, unchosen, chosen):
    assert (len(mask) - sum(mask), sum(mask)) == (len(unchosen), len(chosen)), "1"
    falses, trues = iter(chosen), iter(unchosen)
    return [next(trues, -1) if flag else next(falses, -1) for flag in mask]

"""What has changed between the steps with state that a query had and those that it has now, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from millstream.plan.fingerprint.fact import Fact, leaves
from millstream.plan.fingerprint.fingerprint import Fingerprint

_FOLLOWS = {"argument": ("call",), "definition": ("call",), "state": ("call", "definition", "argument")}
"""What is not worth a word if one of the others has changed about the same thing."""

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def differences(before: Sequence[Fingerprint], now: Sequence[Fingerprint]) -> list[str]:
    """A sentence for each step that has changed; none if all have the same fingerprints.

    >>> def window(*facts: Fact) -> Fingerprint:
    ...     return Fingerprint.of("window aggregate", 1, facts, ())
    >>> key = ("column", "s", "k")
    >>> old = window(Fact("key", key, "INT", "key k", "INT"), Fact("window", None, 60, "the window", "RANGE 1 MINUTE"))
    >>> new = window(Fact("key", key, "STRING", "key k", "STRING"), Fact("window", None, 60, "the window"))
    >>> differences([old], [new])
    ['in its window aggregate, key k was INT and is now STRING']
    >>> differences([old], [])
    ['its window aggregate is gone']
    """
    found = []
    for old, new in _match(before, now):
        if old is None or new is None:
            step, steps, what = (new, now, "new") if old is None else (old, before, "gone")
            assert step is not None  # noqa: S101
            found.append(f"its {_name(step, steps)} is {what}")
        elif changed := list(_compare(old, new)):
            found.append(f"in its {_name(old, before)}, {'; '.join(changed)}")
    if not found and [step.id for step in before] != [step.id for step in now]:
        found.append("its steps read each other in another order")
    return found


def _match(
    before: Sequence[Fingerprint], now: Sequence[Fingerprint]
) -> Iterator[tuple[Fingerprint | None, Fingerprint | None]]:
    """The steps that correspond: those that are the same, and of the others those of one kind, in order."""
    left, right = list(before), list(now)
    for step in before:
        if (same := next((other for other in right if other.id == step.id), None)) is not None:
            left.remove(step)
            right.remove(same)
    for kind in dict.fromkeys(step.step for step in (*left, *right)):
        yield from zip_longest(*([s for s in side if s.step == kind] for side in (left, right)))


def _name(step: Fingerprint, steps: Sequence[Fingerprint]) -> str:
    """The step, told from others of its kind."""
    alike = [each for each in steps if each.step == step.step]
    place = next(i for i, each in enumerate(alike) if each is step)
    return step.step if len(alike) == 1 or place >= len(_ORDINALS) else f"{_ORDINALS[place]} {step.step}"


def _compare(old: Fingerprint, new: Fingerprint) -> Iterator[str]:
    if old.format != new.format:
        yield f"state had the format {old.format} and has now {new.format}"
    olds, news = _find_missing(old.facts, new.facts), _find_missing(new.facts, old.facts)
    pairs = {(fact.kind, fact.about): fact for fact in news}
    both = [(fact, pairs.pop((fact.kind, fact.about), None)) for fact in olds]
    changed = [pair for pair in both if not _is_consequence(pair[0], [*olds, *news])]
    read = {leaf for was, now in changed if was.kind != "source column" and now for leaf in leaves(was.about)}
    for was, now in changed:
        if was.kind == "source column" and (now is None or was.about in read):
            continue
        yield f"{was.words} is gone" if now is None else _describe(was, now)
    for now in pairs.values():
        if now.kind != "source column" and not _is_consequence(now, [*olds, *news]):
            yield f"{now.words} is new"


def _find_missing(facts: Sequence[Fact], others: Sequence[Fact]) -> list[Fact]:
    """The facts that are not among the others, each as often as it is there once more."""
    rest = list(others)
    found = []
    for fact in facts:
        if fact in rest:
            rest.remove(fact)
        else:
            found.append(fact)
    return found


def _is_consequence(fact: Fact, changed: Sequence[Fact]) -> bool:
    causes = _FOLLOWS.get(fact.kind, ())
    return any(other.kind in causes and other.about == fact.about for other in changed)


def _describe(was: Fact, now: Fact) -> str:
    if was.said == now.said:
        return f"{was.words} has changed"
    return f"{was.words} was {was.said or 'not given'} and is now {now.said or 'not given'}"

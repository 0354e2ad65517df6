"""Panes that another window can be read from: then the state of one window aggregate is good for the other, too."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

from millstream.plan.fingerprint.fact import Fact
from millstream.plan.fingerprint.fingerprint import Fingerprint
from millstream.structure import Structure

WINDOW, ORIGIN = "window", "origin"


class _Sliding(NamedTuple):
    """A window of time, and the panes that are kept for it."""

    range: int
    slide: int
    origin: int
    pane: int


def kept_pane(before: Sequence[Fingerprint], now: Sequence[Fingerprint]) -> int | None:
    """The width of the panes that a query has, if these are all that it needs, at most with another window.

    All panes must be there from which a window is read that is yet to be answered. The old ones are kept from the first
    such window on: where that begins no more than `range - slide` before the low-watermark, the new one must not begin
    before that. If the old windows leave gaps, there are no tuples in these.

    >>> def window(*sizes: int) -> Fingerprint:
    ...     fact = Fact("window", None, ("sliding", *sizes, 0), "the window")
    ...     return Fingerprint.of("window aggregate", 1, [fact], ())
    >>> kept_pane([window(60, 1)], [window(30, 5)]), kept_pane([window(60, 5)], [window(60, 1)])
    (1, None)
    >>> kept_pane([window(60, 1)], [window(61, 1)]), kept_pane([window(10, 20)], [window(10, 10)])
    (None, None)
    >>> kept_pane([window(6, 2)], [window(6, 6)]), kept_pane([window(10, 20)], [window(10, 20)])
    (2, 10)
    """
    if len(before) != 1 or len(now) != 1:
        return None
    (old,), (new,) = before, now
    if (old.step, old.format, old.below) != (new.step, new.format, new.below):
        return None
    was, is_ = _window_of(old), _window_of(new)
    if was is None or is_ is None or _others(old) != _others(new):
        return None
    if was.origin != is_.origin or is_.pane % was.pane or not (was[:2] == is_[:2] or _reaches_no_further(was, is_)):
        return None
    return was.pane


def _reaches_no_further(was: _Sliding, is_: _Sliding) -> bool:
    """Whether all panes are kept that other windows need: these end when the old ones do, or reach clearly less far."""
    ends = is_.slide % was.slide == 0 and (was.range - is_.range) % was.slide == 0 and is_.range <= was.range
    return was.slide <= was.range and (ends or is_.range + was.slide <= was.range + was.pane)


def has_kept_panes(before: Sequence[Fingerprint], now: Sequence[Fingerprint]) -> bool:
    """Whether a changed window is read from panes as wide as those that are kept, and needs no others."""
    pane = kept_pane(before, now)
    window = _window_of(now[0]) if pane is not None else None
    return window is not None and window.pane == pane


def _others(step: Fingerprint) -> list[Fact]:
    return [fact for fact in step.facts if fact.kind != WINDOW]


def _window_of(step: Fingerprint) -> _Sliding | None:
    """The window of a step, if it is one of a range and a slide, with an origin that is no tuple."""
    found = [fact.value for fact in step.facts if fact.kind == WINDOW]
    if len(found) != 1 or any(fact.kind == ORIGIN for fact in step.facts):
        return None
    return _sliding(found[0])


def _sliding(structure: Structure) -> _Sliding | None:
    match structure:
        case ("refined", coarse, int(every)):
            found = _sliding(coarse)
            return None if found is None else found._replace(pane=gcd(found.pane, every))
        case ("sliding", int(range_), int(slide), int(origin)):
            return _Sliding(range_, slide, origin, gcd(range_, slide))
    return None

"""The decision which queries share the reading of a stream, each with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millstream.plan.sharing.shared_plan import SharedPlan
from millstream.plan.sharing.states import has_panes


@dataclass(frozen=True)
class SharingDecision:
    """A query of which is known how it would share a reading, or `why` it does not.

    `host` is where it has begun. Those that have not must have the same `pace` and say the same of their `start`; it
    wants so many `buckets`. `takes_others`: queries that come later can join it.
    """

    name: str
    plan: SharedPlan | None
    why: str = ""
    host: Path | None = None
    pace: str = ""
    buckets: int | None = 1
    start: str = ""
    takes_others: bool = False


def group_into_hosts(found: Sequence[SharingDecision]) -> list[list[int]]:
    """The queries that meet in one host, by their places: those over one stream that begin at the same point.

    One that is alone over its stream stays by itself, unless it has begun in a host, or others can join it.
    """
    groups: dict[tuple[str, bool, Path | None, str, str], list[int]] = {}
    for number, one in enumerate(found):
        if one.plan is not None:
            pace, start = ("", "") if one.host else (one.pace, one.start)
            where = one.plan.stream.name.lower(), one.plan.files, one.host, pace, start
            groups.setdefault(where, []).append(number)
    return [
        numbers
        for (_, _, host, _, _), numbers in groups.items()
        if len(numbers) > 1 or host is not None or found[numbers[0]].takes_others
    ]


def describe_sharing(
    name: str, state: str | None, others: Sequence[tuple[str, str | None]], looked_up: Sequence[str] = ()
) -> str:
    """What a member shares with the others of its host, each with its name and its state.

    Those in `looked_up`, and it itself, differ in constants alone.

    >>> describe_sharing("a", "x", [("b", "x"), ("c", None)])
    'reads with b and c; has one state with b'
    >>> describe_sharing("a", None, [])
    'reads alone so far'
    >>> describe_sharing("a", None, [("b", None)], ["b", "a"])
    'reads with b; its condition is looked up with that of b, in a table of their constants'
    """
    names = [other for other, _ in others]
    words = [f"reads with {_join_names(names)}" if names else "reads alone so far"]
    partners = [other for other, theirs in others if state is not None and theirs == state]
    if partners:
        what = "its windows are read from panes shared with" if has_panes(state or "") else "has one state with"
        words.append(f"{what} {_join_names(partners)}")
    if same := [other for other in looked_up if other != name]:
        words.append(f"its condition is looked up with that of {_join_names(same)}, in a table of their constants")
    return "; ".join(words)


def _join_names(names: Sequence[str]) -> str:
    if len(names) > 6:
        return f"{', '.join(names[:5])} and {len(names) - 5} others"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last

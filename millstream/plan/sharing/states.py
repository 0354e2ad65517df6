"""Shared operator state: queries with equal state share one, and windows of several sizes share panes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from millstream.plan.sharing.shared_plan import SharedPlan

MOST_PARTS = 60
"""Panes that windows share are no shorter than this part of those that each of them would have alone."""


def states_for(plans: Sequence[SharedPlan]) -> list[str | None]:
    """The ids of the states of queries that begin together."""
    families: dict[str, dict[str, int]] = {}
    for plan in plans:
        if plan.panes is not None and plan.state is not None:
            families.setdefault(plan.panes, {})[plan.state] = plan.pane
    shared = {state: f"{panes}-{width}" for panes, each in families.items() for state, width in _widths(each).items()}
    return [None if plan.state is None else shared.get(plan.state, plan.state) for plan in plans]


def begun_at(state: str, mark: str) -> str:
    """The id of a state that does not begin with its host, but at a point that a mark names.

    >>> begun_at("0123456789abcdef-5000000", "17"), begun_at("0123456789abcdef", "17")
    ('0123456789abcdef.17-5000000', '0123456789abcdef.17')
    """
    what, dash, width = state.partition("-")
    return f"{what}.{mark}{dash}{width}"


def pane_of(state: str) -> int:
    """The width of the panes of a state that several windows share.

    >>> pane_of("0123456789abcdef-5000000")
    5000000
    """
    return int(state.rpartition("-")[2])


def has_panes(state: str) -> bool:
    """Whether a state is one that several windows share."""
    return "-" in state


def _widths(panes: Mapping[str, int]) -> dict[str, int]:
    """For the states that share panes, how wide these are. The widest begin: what would cut them too small waits.

    >>> _widths({"a": 60, "b": 100, "c": 7})
    {'b': 20, 'a': 20}
    >>> _widths({"a": 60})
    {}
    """
    found: dict[str, int] = {}
    left = sorted(panes.items(), key=lambda one: (-one[1], one[0]))
    while left:
        width, widest, together, others = left[0][1], left[0][1], [], []
        for state, pane in left:
            common = gcd(width, pane)
            if common * MOST_PARTS >= widest:
                width = common
                together.append(state)
            else:
                others.append((state, pane))
        if len(together) > 1:
            found.update(dict.fromkeys(together, width))
        left = others
    return found

"""Conditions over Arrow are checked where they first can be: the fewer tuples go on, the better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa

from millstream.expressions.arrow.reads import reads, renamed, source_of, terms
from millstream.expressions.arrow.steps import ArrowExpression
from millstream.operators.tuples.row_steps import Compute, Keep, Lookup, Step
from millstream.windows.join_kind import JoinKind


def conditions_first(steps: Iterable[Step], tables: Sequence[pa.Schema]) -> tuple[Step, ...]:
    """The same steps, with conditions where they can be checked first: the fewer tuples go on, the better.

    A condition that reads only columns of a table is checked for the rows of that, one that reads none of them before
    the tuples look for partners there.
    """
    done: list[Step] = []
    for step in steps:
        if isinstance(step, Keep):
            for condition in step.conditions:
                for term in terms(condition):
                    _insert(done, term, tables)
        else:
            done.append(step)
    return tuple(done)


def _insert(done: list[Step], term: ArrowExpression, tables: Sequence[pa.Schema]) -> None:
    """Put a condition after some steps, or before the first of them that it need not wait for."""
    place, moved = len(done), term
    for at in range(len(done) - 1, -1, -1):
        step = done[at]
        if isinstance(step, Compute):
            earlier = None if step.beside else renamed(moved, _copies(step))
            if earlier is None:
                break
            moved = earlier
        elif isinstance(step, Lookup):
            read, theirs = reads(moved), frozenset(tables[step.number].names)
            if read and read <= theirs and step.kind is JoinKind.INNER:
                done[at] = replace(step, conditions=(*step.conditions, moved))
                return
            if read is None or read & theirs:
                break
            place, term = at, moved
    if place and isinstance(before := done[place - 1], Keep):
        done[place - 1] = Keep((*before.conditions, term))
    else:
        done.insert(place, Keep((term,)))


def _copies(step: Compute) -> dict[str, str]:
    """The columns that are others under new names."""
    sources = ((name, source_of(compute), type_) for name, compute, type_ in step.columns)
    return {name: source.name for name, source, type_ in sources if source is not None and source.type == type_}

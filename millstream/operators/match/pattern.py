"""Filters that differ in their constants alone: one pattern, and a row of constants for each of them.

Which of them a tuple passes is looked up in the predicate index, as the registrations of a template are; and what they
compute of it is computed for all of them at once, with the constants as columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.operators.match.predicate_index import ID, PredicateIndex
from millstream.operators.match.terms import MatchTerms
from millstream.operators.tuples.lazy_rows import LazyRows
from millstream.operators.tuples.row_steps import Step

Numbers = npt.NDArray[np.int64]

LOOKED_AT = 1 << 10
"""So many tuples say how many of them pass."""

MOST_PASS = 0.05
"""Where a greater share of tuples passes, it is quicker to compare all of them with each constant."""


AT_ONCE = 1 << 21
"""So many pairs of a tuple and a member are computed at once."""


@dataclass(frozen=True)
class Pattern:
    """What a filter does, but for its constants: these are columns of the names in `constants`, a table of one row.

    `terms` say which tuples pass, and read the columns in `asks`. `before` leads to the tuples that are asked, `after`
    from those that pass, with the constants beside them, to the rows.
    """

    terms: MatchTerms
    asks: tuple[str, ...]
    before: tuple[Step, ...]
    after: tuple[Step, ...]
    constants: pa.Table


class PatternGroup:
    """The members of one pattern, by their ids, each with its constants."""

    def __init__(self, members: Mapping[str, Pattern]) -> None:
        self._members = list(members)
        self._pattern = next(iter(members.values()))
        tables = [pattern.constants for pattern in members.values()]
        numbers = pa.array(range(len(tables)), pa.int64())
        constants = pa.concat_tables(tables).add_column(0, ID, numbers)
        self._index = PredicateIndex(self._pattern.terms, constants.schema)
        self._index.add(constants)

    def rows(self, tuples: pa.Table) -> dict[str, list[pa.Table]] | None:
        """The rows of each member that has some; None if so many tuples pass that this is not the way."""
        lazy = _over(self._pattern.before, LazyRows.of(tuples))
        asked = pa.table({name: lazy[name] for name in self._pattern.asks})
        first = asked.slice(0, LOOKED_AT)
        most = MOST_PASS * len(self._members)
        if sum(len(ours) for ours, _ in self._index.pairs(first)) > most * first.num_rows:
            return None
        found: dict[str, list[pa.Table]] = {}
        waiting: list[tuple[Numbers, Numbers]] = []
        here = count = 0
        for pairs in self._index.pairs(asked):
            waiting.append(pairs)
            here += len(pairs[0])
            count += len(pairs[0])
            if count > most * asked.num_rows:  # the first tuples were of another kind
                return None
            if here >= AT_ONCE:
                self._share_out(waiting, lazy, found)
                waiting, here = [], 0
        if waiting:
            self._share_out(waiting, lazy, found)
        return found

    def _share_out(
        self, pairs: Sequence[tuple[Numbers, Numbers]], tuples: LazyRows, found: dict[str, list[pa.Table]]
    ) -> None:
        """Compute the rows of pairs of a tuple and a member, and give each member its own, in the order of tuples."""
        ours, theirs = (np.concatenate(each) for each in zip(*pairs, strict=True))
        order = np.argsort(theirs, kind="stable")
        ours, theirs = ours[order], theirs[order]
        table = _over(self._pattern.after, tuples.taken(ours).beside(self._index.rows, theirs)).table()
        begins = np.flatnonzero(np.diff(theirs, prepend=-1))
        numbers = self._index.rows[ID].to_numpy()[theirs[begins]]
        ends = [*begins[1:].tolist(), len(theirs)]
        for number, begin, end in zip(numbers.tolist(), begins.tolist(), ends, strict=True):
            found.setdefault(self._members[number], []).append(table.slice(begin, end - begin))


def _over(steps: Sequence[Step], rows: LazyRows) -> LazyRows:
    for step in steps:
        rows = step(rows, ())
    return rows

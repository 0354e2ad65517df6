"""How tuples are matched with registrations: what the index looks up, what is checked, and what is left to Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.catalog.schema import Schema
from millstream.expressions.reading import columns_of
from millstream.expressions.tree import Value
from millstream.operators.match.terms import MatchTerms
from millstream.plan.algebra import Filter, Node, rewrite
from millstream.plan.match_registrations import MatchRegistrations
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.match_terms import sort_terms
from millstream.plan.physical.nodes import Explanation, Noted, Physical


@dataclass(frozen=True)
class IndexedMatch(Physical):
    """A match of tuples with registrations by an index; `computed` are columns that Spark makes of tuples for it.

    `also` are columns of registrations that it gives for a condition behind it.
    """

    below: Node
    step: MatchRegistrations
    terms: MatchTerms
    computed: Mapping[str, Value]
    said: tuple[str, ...]

    @property
    def schema(self) -> Schema:
        """Those of the step."""
        return Schema([*self.below.schema, *self.step.given])

    @property
    def explanation(self) -> Explanation:
        """The step, and how registrations are found."""
        return Explanation(self.step, self.said, (self.below,))


def index_registrations(plan: Node, facts: Facts) -> Node:
    """`MatchRegistrations` becomes an index, perhaps with a `Filter` above for what only Spark can check."""

    def index(node: Node) -> Node:
        if not isinstance(node, MatchRegistrations):
            return node
        found = sort_terms(node.condition, frozenset(column.name for column in node.columns))
        if found.left_over is None:
            return IndexedMatch(node.below, node, found.terms, found.computed, found.said)
        read = columns_of(found.left_over) & {item.name for item in node.columns}
        step = node if node.gives is None else _limit_columns(node, read)
        match = IndexedMatch(node.below, step, found.terms, found.computed, found.said)
        return Noted(Filter(match, found.left_over), "Spark checks it: it has no form over Arrow")

    return rewrite(plan, index)


def _limit_columns(node: MatchRegistrations, names: frozenset[str]) -> MatchRegistrations:
    return MatchRegistrations(
        node.below, node.template, node.registration, node.columns, node.condition, (node.gives or frozenset()) | names
    )

"""Pushes conditions down to the stage whose answers they filter, so that fewer cross to Spark."""

from __future__ import annotations

from dataclasses import replace

from millstream.catalog.catalog import Catalog
from millstream.expressions.compile.arrow import without_arrow_form
from millstream.expressions.reading import all_of, columns_of, over_columns, terms_of
from millstream.expressions.tree import Column, Value
from millstream.plan.algebra import Derived, Filter, Node, OverAggregate, Project, Unnest, WindowAggregate, rewrite
from millstream.plan.joins_and_unions import TableJoin, WindowJoin
from millstream.windows.join_kind import JoinKind

ANSWERING = (WindowAggregate, OverAggregate, WindowJoin)
"""The stages that check conditions on their answers."""

_PASSABLE = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
"""The joins with tables that leave a tuple out, or as it is: whether one passes can be seen before."""


def push_filters_down(plan: Node, catalog: Catalog) -> Node:
    """`Filter k > 1 over TableJoin over WindowAggregate` becomes `TableJoin over Filter k > 1 over WindowAggregate`.

    Only what gets as far as a stage moves, and can be checked there. Of sources, those who read them see to that.
    """

    def push(node: Node) -> Node:
        match node:
            case Filter(below=below, predicate=predicate):
                pushed, staying = _all_pushed(below, predicate)
                return pushed if staying is None else Filter(pushed, staying)
            case TableJoin(left=left, kind=JoinKind.INNER, condition=condition) if condition is not None:
                # The binder makes WHERE a part of ON where that is the same.
                names = _find_columns(left) or frozenset()
                pushed, staying = _all_pushed(left, condition, names)
                return replace(node, left=pushed, condition=staying)
        return node

    return rewrite(plan, push)


def _all_pushed(node: Node, condition: Value, names: frozenset[str] | None = None) -> tuple[Node, Value | None]:
    """The plan with all terms of a condition above its next stage that can get there, and the terms that cannot.

    If there are names, only terms move that read no other columns.
    """
    staying = []
    for term in terms_of(condition):
        known = names is None or _find_reads(term) <= names
        pushed = _push_term(node, term) if known and without_arrow_form(term) is None else None
        if pushed is None:
            staying.append(term)
        else:
            node = pushed
    return node, all_of(staying)


def _push_term(node: Node, term: Value) -> Node | None:
    """The plan with a condition above its next stage; None if it cannot get there."""
    match node:
        case Filter(below=below, predicate=predicate):
            if _answers(below):
                return Filter(below, all_of([predicate, term]) or term)
        case Project(below=below, items=items):
            meanings = {i.name.lower(): i.expression for i in items if isinstance(i.expression, Column)}
            if not _find_reads(term) <= meanings.keys():
                return None
            term = over_columns(term, meanings)
        case TableJoin(left=below, right=right, kind=kind):
            names = _find_columns(below)
            if kind not in _PASSABLE or names is None or not _find_reads(term) <= names:
                return None
            pushed = _push_term(below, term)
            return None if pushed is None else node.with_inputs([pushed, right])
        case Derived(below=below):
            pass
        case _:
            return Filter(node, term) if _answers(node) else None
    pushed = _push_term(below, term)
    return None if pushed is None else node.with_inputs([pushed])


def _answers(node: Node) -> bool:
    """Whether these are the answers of a stage, as it gives them."""
    return isinstance(node, ANSWERING) or (isinstance(node, Unnest) and isinstance(node.below, ANSWERING))


def _find_columns(node: Node) -> frozenset[str] | None:
    """The columns that a step gives; None if that is not written there."""
    match node:
        case Project(items=items):
            return frozenset(i.name.lower() for i in items)
        case Filter(below=below) | Derived(below=below):
            return _find_columns(below)
    return None


def _find_reads(term: Value) -> frozenset[str]:
    return frozenset(name.lower() for name in columns_of(term))

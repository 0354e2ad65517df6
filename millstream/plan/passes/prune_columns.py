"""Prunes columns that no step above reads."""

from __future__ import annotations

from dataclasses import replace

from millstream.catalog.catalog import Catalog
from millstream.expressions.reading import columns_of
from millstream.expressions.tree import Value
from millstream.language.types import functions
from millstream.plan.algebra import Derived, Filter, Node, OverAggregate, Project, WindowAggregate
from millstream.plan.joins_and_unions import TableJoin, Union, WindowJoin
from millstream.plan.match_registrations import MatchRegistrations
from millstream.plan.split import Split

Names = frozenset[str]


def prune_columns(plan: Node, catalog: Catalog) -> Node:
    """`Project k over WindowAggregate` makes the aggregate give `k` alone, and read no more than it needs for that."""
    return _prune_step(plan, None)


def _prune_step(node: Node, read: Names | None) -> Node:
    """The step for those who read these columns of it; None: all."""
    match node:
        case Project():
            # A row without columns is still a row: one is kept.
            kept = (
                tuple(i for i in node.items if read is None or i.name in read or functions.makes_rows(i.expression))
                or node.items[:1]
            )
            return Project(_prune_step(node.below, columns_of(*(i.expression for i in kept))), kept)
        case Split(outputs=outputs):
            items = [item.expression for output in outputs for item in output.items]
            conditions = [output.where for output in outputs]
            return node.with_inputs([_prune_step(node.below, columns_of(*items, *conditions))])
        case Filter():
            return node.with_inputs([_prune_step(node.below, _more(read, node.predicate))])
        case Derived():
            return node.with_inputs([_prune_step(node.below, read)])
        case WindowAggregate(window_aggregate=work):
            parts = [*(k.expression for k in work.keys), *(a for c in work.calls for a in c.arguments)]
            conditions = [c.condition for c in work.calls]
            below = _prune_step(node.below, columns_of(*parts, *conditions) | _names(work.time))
            return replace(node, below=below, gives=read)
        case OverAggregate(over_aggregate=work):
            parts = [*(k.expression for k in work.keys), *(a for c in work.calls for a in c.call.arguments)]
            conditions = [c.call.condition for c in work.calls]
            return node.with_inputs(
                [_prune_step(node.below, columns_of(*parts, *conditions) | _names(work.time, *work.carried))]
            )
        case WindowJoin():
            return _prune_join(node, read)
        case MatchRegistrations(condition=condition, columns=columns):
            wanted = _more(read, condition)
            theirs = frozenset(item.name for item in columns)
            return replace(node, below=_prune_step(node.below, wanted), gives=None if read is None else read & theirs)
        case TableJoin():
            wanted = _more(read, node.condition)
            return node.with_inputs([_prune_step(below, wanted) for below in node.inputs])
        case Union():
            return node.with_inputs([_prune_step(part, read) for part in node.parts])
    return node.with_inputs([_prune_step(below, None) for below in node.inputs])


def _prune_join(node: WindowJoin, read: Names | None) -> Node:
    checked = columns_of(node.residual)
    left, right = (tuple(c for c in columns if read is None or c in read or c in checked) for columns in node.columns)
    if not left and not right:
        left = node.times[:1]  # a pair without columns is still a pair
    needs = (
        columns_of(*(e.left for e in node.equalities)) | _names(node.times[0], *left),
        columns_of(*(e.right for e in node.equalities)) | _names(node.times[1], *right),
    )
    sides = [_prune_step(below, need) for below, need in zip(node.inputs, needs, strict=True)]
    return replace(node, left=sides[0], right=sides[1], columns=(left, right))


def _more(read: Names | None, condition: Value | None) -> Names | None:
    """Also the columns of a condition."""
    return None if read is None else read | columns_of(condition)


def _names(*names: str | None) -> Names:
    return frozenset(name for name in names if name is not None)

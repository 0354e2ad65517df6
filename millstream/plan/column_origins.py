"""The origin of a column of a plan."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.expressions import tree
from millstream.plan.algebra import (
    AssignWindows,
    Derived,
    Filter,
    Node,
    OverAggregate,
    Project,
    Unnest,
    WindowAggregate,
)
from millstream.plan.bounded import Distinct, Limit, Sort
from millstream.plan.fingerprint.fingerprint import Fingerprint
from millstream.plan.fingerprint.lineage import Lineage
from millstream.plan.joins_and_unions import JOINT, MergeOrdered, TableJoin, Union, Unique, WindowJoin
from millstream.plan.match_registrations import MatchRegistrations
from millstream.plan.scans import LateScan
from millstream.windows.join_kind import JoinKind

STAGES = (WindowAggregate, OverAggregate, WindowJoin, Unique, MergeOrdered, LateScan)
"""The steps that keep something from one batch to the next, and whose answers make progress by themselves."""


def trace(node: Node, column: str) -> tuple[Node, str] | None:
    """The step that makes the column, and its name there; None if it is computed on the way.

    Steps that only choose or rename are looked through. The greatest of both time stamps of a join is its JOINT one.
    """
    match node:
        case Filter() | Derived() | Sort() | Distinct() | Limit() | AssignWindows() | Unnest():
            return trace(node.below, column)
        case TableJoin():
            return trace(node.left, column)
        case MatchRegistrations():
            return (node, column) if node.given.find(column) else trace(node.below, column)
        case Project():
            item = next((i for i in node.items if i.name.lower() == column.lower()), None)
            if item is not None and isinstance(item.expression, tree.Column):
                return trace(node.below, item.expression.name)
            return _joint(node.below, item.expression) if item is not None else None
    return node, column


def _joint(below: Node, expression: tree.Value) -> tuple[Node, str] | None:
    if not isinstance(expression, tree.Call) or expression.function != "greatest":
        return None
    found = [trace(below, term.name) if isinstance(term, tree.Column) else None for term in expression.arguments]
    sources = {id(f[0]): f[0] for f in found if f is not None}
    join = next(iter(sources.values()), None)
    if isinstance(join, WindowJoin) and None not in found and len(sources) == 1:
        return (join, JOINT) if {f[1] for f in found if f is not None} == set(join.times) else None
    return None


def lineage_of(plan: Node) -> Lineage:
    """Where all columns of a plan come from, and what its rows depend on."""
    return plan.lineage([lineage_of(below) for below in plan.inputs])


def fingerprints(plan: Node) -> tuple[Fingerprint, ...]:
    """The fingerprints of the steps of a plan that have state, those that others read first."""
    return lineage_of(plan).steps


def steps(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    yield node
    for below in node.inputs:
        yield from steps(below)


def has_state(node: Node) -> bool:
    """Whether something is kept from one batch to the next."""
    return any(isinstance(step, STAGES) for step in steps(node))


def holds_back(node: Node) -> bool:
    """Whether something is answered only when the input has ended: not by joins that only pair what has come."""
    pairing = (JoinKind.INNER, JoinKind.SEMI)
    stages = [step for step in steps(node) if isinstance(step, STAGES)]
    return any(not (isinstance(step, WindowJoin) and step.kind in pairing) for step in stages)


def parts(node: Node) -> tuple[Node, ...]:
    """The inputs that a step reads as one."""
    return node.parts if isinstance(node, Union) else (node,)


def feeder(node: Node) -> Node:
    """The source or the stage that the tuples of a node come from; there is one after unions are drawn apart."""
    while not isinstance(node, STAGES) and node.inputs:
        node = node.inputs[0]  # of a table joined to it nobody waits
    return node

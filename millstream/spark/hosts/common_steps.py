"""The steps of many members over the same tuples: what several of them need is computed once.

Steps are compared by what they are made of. Members that begin with the same steps have the same rows up to there; of
their conditions, and of parts of these, each is computed once for all that ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import cloudpickle

from millstream.expressions.arrow.reads import terms
from millstream.expressions.arrow.steps import Applied, ArrowExpression, Whole
from millstream.expressions.arrow.steps import Step as Part
from millstream.operators.tuples.lazy_rows import LazyRows
from millstream.operators.tuples.row_steps import Keep, Step

Key = Any
"""What a step is made of, to be compared."""


def key_of(what: Any) -> Key:
    """Two steps with the same key compute the same.

    >>> from millstream.expressions.arrow.steps import ColumnOf, Constant
    >>> one, other = (Whole(Applied(pc.less, (ColumnOf("x", pa.int64()), Constant(pa.scalar(3))))) for _ in range(2))
    >>> one is other, key_of(one) == key_of(other)
    (False, True)
    >>> key_of(Constant(pa.scalar(3))) == key_of(Constant(pa.scalar(3.0)))
    False
    """
    match what:
        case None | bool() | int() | str() | bytes():
            return (type(what).__name__, what)
        case float():
            return ("float", what.hex())
        case pa.Scalar():
            return ("scalar", str(what.type), what.is_valid, key_of(what.as_py()) if what.is_valid else None)
        case pa.DataType():
            return ("type", str(what))
        case tuple() | list():
            return ("list", *map(key_of, what))
        case partial():
            named = tuple((name, key_of(value)) for name, value in sorted(what.keywords.items()))
            return ("partial", key_of(what.func), key_of(what.args), named)
    if is_dataclass(what) and not isinstance(what, type):
        return (_place(type(what)), *(key_of(getattr(what, each.name)) for each in fields(what)))
    if callable(what) and (place := _place(what)) is not None:
        return ("function", place)
    return ("pickled", cloudpickle.dumps(what))  # type: ignore[no-untyped-call]


def _place(what: Any) -> str | None:
    """Where a function or a class is found by its name; None if that does not say which one it is."""
    module, name = getattr(what, "__module__", None), getattr(what, "__qualname__", "<")
    return None if module is None or "<" in name else f"{module}.{name}"


@dataclass
class _Node:
    """Rows that several members have in common: after the same steps. Those in `ends` go no further."""

    ends: list[str] = field(default_factory=list)
    further: dict[Key, tuple[Step, _Node]] = field(default_factory=dict)


class CommonSteps:
    """The steps of some members, by their ids, as a tree."""

    def __init__(self, members: Mapping[str, Sequence[Step]]) -> None:
        self._keys: dict[int, Key] = {}
        self._root = _Node()
        self._kept = list(members.values())  # their parts are known by their addresses
        for member, steps in members.items():
            node = self._root
            for step in steps:
                node = node.further.setdefault(key_of(step), (step, _Node()))[1]
            node.ends.append(member)

    @property
    def size(self) -> int:
        """How many steps are carried out."""
        return _size(self._root)

    def rows(self, tuples: pa.Table) -> tuple[dict[str, pa.Table], dict[str, Exception]]:
        """The rows of each member, or why it has none: what fails in a step is a failure of those who need it."""
        found: dict[str, pa.Table] = {}
        failed: dict[str, Exception] = {}
        self._follow(self._root, LazyRows.of(tuples), found, failed)
        return found, failed

    def _follow(self, node: _Node, rows: LazyRows, found: dict[str, pa.Table], failed: dict[str, Exception]) -> None:
        if node.ends:
            try:
                table = rows.table()
            except Exception as problem:  # whatever a member does, the others go on
                failed.update(dict.fromkeys(node.ends, problem))
            else:
                found.update(dict.fromkeys(node.ends, table))
        known: dict[Key, Any] = {}
        for step, below in node.further.values():
            try:
                after = self._kept_of(step, rows, known) if isinstance(step, Keep) else step(rows, ())
            except Exception as problem:  # whatever a member does, the others go on
                failed.update(dict.fromkeys(_ends(below), problem))
            else:
                self._follow(below, after, found, failed)

    def _kept_of(self, keep: Keep, rows: LazyRows, known: dict[Key, Any]) -> LazyRows:
        held = [self._value(term, rows, known) for condition in keep.conditions for term in terms(condition)]
        return rows.filter(pc.fill_null(reduce(pc.and_kleene, held), False))

    def _value(self, condition: ArrowExpression, rows: LazyRows, known: dict[Key, Any]) -> pa.Array:
        if not isinstance(condition, Whole):
            return condition(rows)
        said = self._part(condition.step, rows, known)
        return pa.repeat(said, rows.num_rows) if isinstance(said, pa.Scalar) else said

    def _part(self, part: Part, rows: LazyRows, known: dict[Key, Any]) -> Any:
        if not isinstance(part, Applied):
            return part(rows)
        key = self._keys.get(id(part))
        if key is None:
            key = self._keys[id(part)] = key_of(part)
        if key not in known:
            known[key] = part.function(*(self._part(argument, rows, known) for argument in part.arguments))
        return known[key]


def _ends(node: _Node) -> Iterable[str]:
    yield from node.ends
    for _, below in node.further.values():
        yield from _ends(below)


def _size(node: _Node) -> int:
    return sum(1 + _size(below) for _, below in node.further.values())

"""Trees to steps over Arrow tables, for what never becomes rows of Spark.

An expression means here what it means in the text that Spark gets, see `millstream.expressions.compile.spark`: a step
that fails for one row gives NULL there.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from millstream.expressions.arrow.steps import (
    Applied,
    ArrowExpression,
    ColumnOf,
    Constant,
    Step,
    WhereTrue,
    Whole,
    applied,
    choose,
)
from millstream.expressions.arrow.types import arrow_type, column_of
from millstream.expressions.elementary import elementary
from millstream.expressions.functions.arrays import arrow_array_of
from millstream.expressions.functions.registry import FUNCTIONS
from millstream.expressions.tree import BOOL, NULL, Call, Case, Column, Literal, Type, Value


class NoArrowForm(ValueError):
    """A part of a tree that has none."""

    def __init__(self, value: Value) -> None:
        super().__init__("this has no form for Arrow")
        self.value = value


def arrow_value(value: Value) -> tuple[ArrowExpression, pa.DataType]:
    """An expression as a function of tables that have its columns, and the type of what it gives.

    NoArrowForm says which part of it has none.
    """
    return arrow_steps(elementary(value))


def arrow_condition(condition: Value) -> ArrowExpression:
    """A condition as a function of tables that have its columns; it can be pickled.

    >>> from millstream.expressions.tree import INT32
    >>> positive = Call("gt", (Column("a.x", INT32), Literal(0, INT32)), BOOL)
    >>> holds = arrow_condition(Call("and", (positive, Column("b.y", BOOL)), BOOL))
    >>> holds(pa.table({"a.x": pa.array([1, 2, -3], pa.int32()), "b.y": [None, True, None]})).to_pylist()
    [None, True, False]
    """
    if condition.type == NULL:
        condition = Call("null_as", (condition,), BOOL, unwritten=True)
    if condition.type != BOOL:
        raise NoArrowForm(condition)
    return arrow_value(condition)[0]


def without_arrow_form(condition: Value) -> Value | None:
    """The first part of a condition that has no form for Arrow; None if all of it has one."""
    try:
        arrow_condition(condition)
    except NoArrowForm as refusal:
        return refusal.value
    return None


def arrow_steps(value: Value) -> tuple[Whole, pa.DataType]:
    """What a tree becomes, and the type of what it gives; NoArrowForm says which part of it has none.

    >>> from millstream.expressions.tree import INT32
    >>> double = Call("mul_int32", (Column("x", INT32), Literal(2, INT32)), INT32)
    >>> steps, type_ = arrow_steps(double)
    >>> steps(pa.table({"x": pa.array([1, None, 2**30], pa.int32())})).to_pylist(), str(type_)
    ([2, None, None], 'int32')
    """
    type_ = _type(value, value.type)
    # A column as it is may be an array; nothing is computed of these.
    return Whole(ColumnOf(value.name, type_) if isinstance(value, Column) else _step(value)), type_


def _type(value: Value, type_: Type) -> pa.DataType:
    try:
        return arrow_type(BOOL if type_ == NULL else type_)
    except KeyError:
        raise NoArrowForm(value) from None


def _step(value: Value) -> Step:
    match value:
        case Literal():
            return Constant(column_of([value.value], _type(value, value.type))[0])
        case Column():
            type_ = _type(value, value.type)
            if pt.is_nested(type_):
                raise NoArrowForm(value)
            return ColumnOf(value.name, type_)
        case Case():
            found = _step(value.default)
            for condition, result in reversed(value.branches):
                found = _chosen(_step(condition), _step(result), found)
            return found
        case Call():
            return _call(value)
    raise NoArrowForm(value)


def _call(call: Call) -> Step:
    if call.function in {"is_null", "is_not_null"} and isinstance(call.arguments[0], Column):
        # Of a column of any type.
        steps: list[Step] = [ColumnOf(call.arguments[0].name, None)]
    else:
        steps = []
    form = FUNCTIONS[call.function].arrow
    type_ = _type(call, call.type)
    found = None if form is None else form(call)
    if found is None:
        raise NoArrowForm(call)
    function, arguments = found
    step = applied(function, *(steps or map(_step, arguments)))
    if isinstance(step, Constant) and pt.is_nested(type_):
        raise NoArrowForm(call)
    return step


def _chosen(condition: Step, then: Step, otherwise: Step) -> Step:
    """One of two steps, by a condition. Arrays, which cost more than other values, are made only where wanted."""
    match then, otherwise:
        case Applied(function=function), Constant(value=value) if function is arrow_array_of and not value.is_valid:
            return WhereTrue(condition, then)
    return applied(choose, condition, then, otherwise)

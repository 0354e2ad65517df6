"""What an expression becomes: steps over Arrow tables, made of plain parts, so that they travel to Spark's workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.expressions.arrow.values import Values

ArrowExpression = Callable[[pa.Table], pa.Array]
"""Says of each row of a table whether a condition holds, or what an expression gives; NULL where that is unknown."""


@dataclass(frozen=True)
class Whole:
    """A whole expression."""

    step: Step

    def __call__(self, table: pa.Table) -> pa.Array:
        """What it gives for each row."""
        said = self.step(table)
        return pa.repeat(said, table.num_rows) if isinstance(said, pa.Scalar) else said


@dataclass(frozen=True)
class Constant:
    """The same value for every row."""

    value: pa.Scalar

    def __call__(self, table: pa.Table) -> pa.Scalar:
        """The value."""
        return self.value


@dataclass(frozen=True)
class ColumnOf:
    """A column; without a type, as it comes."""

    name: str
    type: pa.DataType | None

    def __call__(self, table: pa.Table) -> pa.Array:
        """The values, in one array."""
        column = table[self.name]
        array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        return array if self.type is None or array.type == self.type else array.cast(self.type)


@dataclass(frozen=True)
class Applied:
    """A function of other steps, one of which at least is no constant."""

    function: Callable[..., Any]
    arguments: tuple[Step, ...]

    def __call__(self, table: pa.Table) -> pa.Array:
        """What the function makes of its arguments."""
        return self.function(*(argument(table) for argument in self.arguments))


@dataclass(frozen=True)
class WhereTrue:
    """A step for the rows for which a condition holds, and NULL for the others: it is not computed for these."""

    condition: Step
    step: Applied

    def __call__(self, table: pa.Table) -> pa.Array:
        """What the step gives for some rows."""
        holds = pc.fill_null(Whole(self.condition)(table), False)
        true = holds.to_numpy(zero_copy_only=False)
        return self.step(table.filter(holds)).take(pa.array(np.cumsum(true) - 1, mask=~true))


Step = Constant | ColumnOf | Applied | WhereTrue


def choose(condition: Values, value: Values, other: Values) -> Values:
    """The value where the condition holds, else the other one."""
    return pc.if_else(pc.fill_null(condition, False), value, other)


def applied(function: Callable[..., Any], *arguments: Step) -> Step:
    """A function of steps; of constants alone it is computed here, once."""
    constants = [a.value for a in arguments if isinstance(a, Constant)]
    if len(constants) < len(arguments):
        return Applied(function, arguments)
    return Constant(function(*(pa.repeat(value, 1) for value in constants))[0])

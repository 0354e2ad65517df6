"""Arrow values as those of a declared type: the same values, or none at all."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.catalog.arrow import to_arrow
from millstream.catalog.schema import Column, type_name


class Misfit(ValueError):
    """Values that a column cannot hold: what is wrong, and a way out."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def kind_of(type_: pa.DataType) -> str:
    """What values of a type are, in a word: one kind is never taken for another.

    >>> kind_of(pa.int8()), kind_of(pa.decimal128(5, 2)), kind_of(pa.large_string())
    ('number', 'number', 'text')
    """
    if pt.is_dictionary(type_):
        return kind_of(type_.value_type)
    if pt.is_boolean(type_):
        return "BOOLEAN"
    if pt.is_integer(type_) or pt.is_floating(type_) or pt.is_decimal(type_):
        return "number"
    if pt.is_string(type_) or pt.is_large_string(type_) or pt.is_string_view(type_):
        return "text"
    return "date" if pt.is_date(type_) else "time" if pt.is_timestamp(type_) else str(type_)


def fit_values(values: pa.Array, column: Column) -> pa.Array:
    """The values in the type of a column; Misfit if there is one that it cannot hold as it is.

    >>> from millstream.catalog.schema import sql_type
    >>> fit_values(pa.array([7]), Column("low", sql_type("real"))).to_pylist()
    [7.0]
    >>> fit_values(pa.array([7.5]), Column("item", sql_type("int")))
    Traceback (most recent call last):
    millstream.catalog.fit_values.Misfit: 7.5 does not fit into item INT
    """
    type_ = to_arrow(column.type)
    assert type_ is not None, column  # noqa: S101  (parameters have plain types)
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if not column.nullable and array.null_count:
        raise Misfit(f"NULL does not fit into {column}", f"{column.name} takes no NULL: give a value")
    if pt.is_null(array.type):
        return pa.nulls(len(array), type_)
    if kind_of(array.type) != kind_of(type_):
        shown = next((value for value in array.to_pylist() if value is not None), None)
        shown = repr(shown) if isinstance(shown, str) else str(shown).upper()
        raise Misfit(f"{shown} is no {kind_of(type_)}, as {column} takes it", f"give a {kind_of(type_)}, or CAST it")
    return _cast(array, type_, column)


def _cast(array: pa.Array, type_: pa.DataType, column: Column) -> pa.Array:
    if pt.is_timestamp(type_) and type_.tz and array.type.tz is None:
        array = pc.assume_timezone(array.cast(pa.timestamp("us")), "UTC")
    try:
        fitted = array.cast(type_, safe=not pt.is_floating(type_))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        fitted = None
    if fitted is None or not _same(array, fitted):
        hint = f"{column.name} is {type_name(column.type)}: CAST the value, if another one may take its place"
        raise Misfit(f"{_first_misfit(array, type_)} does not fit into {column}", hint)
    return fitted


def _same(array: pa.Array, fitted: pa.Array) -> bool:
    """Whether nothing is lost; fractions may be rounded to the nearest that a floating number has."""
    if kind_of(array.type) != "number":
        return True
    if pt.is_floating(fitted.type):
        before = array.cast(pa.float64(), safe=False)
        lost = pc.and_(pc.is_finite(before), pc.invert(pc.is_finite(fitted)))
        return not pc.any(lost).as_py()
    if not pt.is_floating(array.type):
        return True  # Arrow itself refuses to lose digits of whole numbers and decimals
    return bool(pc.all(pc.equal(fitted.cast(array.type, safe=False), array)).as_py() in {True, None})


def _first_misfit(array: pa.Array, type_: pa.DataType) -> object:
    """The value that does not fit."""
    for number in range(len(array)):
        one = array.slice(number, 1)
        try:
            if not _same(one, one.cast(type_, safe=not pt.is_floating(type_))):
                return one[0].as_py()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return one[0].as_py()
    return "a value"

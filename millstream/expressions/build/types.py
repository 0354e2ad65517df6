"""What the types of an expression say about how it is evaluated on Arrow tables."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from millstream.catalog.schema import UNKNOWN, SqlType
from millstream.language.types import coercion as c
from millstream.language.types import decimals

_SIGNED_DIGITS = 34


def type_of(node: exp.Expr) -> SqlType:
    """The type that a part knows it has."""
    return node.type if isinstance(node.type, exp.DataType) else UNKNOWN


def known(type_: SqlType | None) -> SqlType | None:
    """A type, if it can be told; that of NULLs alone does not matter."""
    if type_ is None or c.is_unknown(type_):
        return None
    return c.BOOLEAN if c.is_null(type_) else type_


def is_time(type_: SqlType) -> bool:
    """Whether it is a date or a timestamp."""
    return c.is_date(type_) or c.is_timestamp(type_)


def has_negative(type_: SqlType) -> bool:
    """Whether it is a number whose sign can be changed: beyond 34 digits, Spark loses some of a decimal's."""
    digits = decimals.digits(type_) or (0, 0)
    return c.is_numeric(type_) and digits[0] <= _SIGNED_DIGITS


def converts(from_: SqlType, type_: SqlType) -> bool:
    """Whether values of a type can be turned into another one."""
    if c.is_string(type_):
        return c.is_integral(from_)
    if c.is_decimal(type_) and not (c.is_integral(from_) or c.is_decimal(from_)):
        return False  # by the digits that Java writes a number with, which depend on its version
    return any(test(from_) and test(type_) for test in (c.is_numeric, is_time))


def meeting(left: exp.Expr, right: exp.Expr) -> SqlType | None:
    """The type in which two values are compared."""
    for one, other in ((left, type_of(right)), (right, type_of(left))):
        if c.is_string(type_of(one)) and is_time(other):
            return other
        literal, digits = one.this if isinstance(one, exp.Neg) else one, decimals.digits(other)
        if c.is_decimal(other) and digits and c.is_integral(type_of(one)) and isinstance(literal, exp.Literal):
            # A whole number that is written out needs only the digits it has.
            return decimals.common((len(literal.name.lstrip("0")) or 1, 0), digits)
    return known(c.wider(type_of(left), type_of(right), texts=False))


def is_beyond(node: exp.Expr) -> bool:
    """Whether a decimal literal is too great or too small for BIGINT."""
    literal = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(literal, exp.Literal) or not c.is_decimal(type_of(node)):
        return False
    return abs(Decimal(literal.name)) >= 2**63

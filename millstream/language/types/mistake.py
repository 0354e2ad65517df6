"""A mistake of type, and what the checks for mistakes ask of the parts of an expression."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.catalog.schema import UNKNOWN, SqlType, type_name
from millstream.language.parse.written import message_text
from millstream.language.types import coercion as c


@dataclass(frozen=True)
class Mistake:
    """A part of an expression whose types do not fit, in words, and what to write instead."""

    node: exp.Expr
    message: str
    hint: str


def type_of(node: exp.Expr | None) -> SqlType:
    """The type that a part was given."""
    found = node.type if node is not None else None
    return found if isinstance(found, exp.DataType) else UNKNOWN


def shown(node: exp.Expr) -> str:
    """A part as errors write it."""
    return message_text(node)


def text_of(node: exp.Expr) -> str | None:
    """The text that a part is, if it is one that is written out."""
    inner = node.unnest()
    return str(inner.name) if isinstance(inner, exp.Literal) and inner.is_string else None


def cast_hint(node: exp.Expr, type_: SqlType | str) -> str:
    """What to write for a part that has the wrong type."""
    return f"write CAST({shown(node)} AS {type_ if isinstance(type_, str) else type_name(type_)})"


def is_free(type_: SqlType) -> bool:
    """Whether values of a type may be of any: those of NULL, and those that only Spark knows."""
    return c.is_unknown(type_) or c.is_null(type_)


def kind_of(type_: SqlType) -> str:
    """The kind of values in a word: number, text, truth, time, interval, nested or other."""
    tests = {
        "number": c.is_numeric,
        "text": c.is_string,
        "truth": c.is_boolean,
        "time": lambda t: c.is_date(t) or c.is_timestamp(t),
        "interval": c.is_interval,
        "nested": c.is_nested,
    }
    return next((kind for kind, test in tests.items() if test(type_)), "other")

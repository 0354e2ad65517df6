"""SQL as users write it, in the forgiving forms alone: what trees must give, told without a tree."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

from millstream.language.parse.dialect import Esl
from millstream.language.parse.spark_dialect import SUFFIX
from millstream.language.types import coercion as c

_FORGIVING = {"aes_decrypt", "parse_json", "to_binary", "to_number", "url_decode"}
"""The functions that stop a query even with ANSI mode off, and have a try_ form."""

_WHOLE = ("tinyint", "smallint", "int", "bigint")

_ZEROS = {"tinyint": "0Y", "smallint": "0S", "int": "0", "bigint": "0L"}

_LEAST = {"0Y": "-128Y", "0S": "-32768S", "0": "-2147483648", "0L": "-9223372036854775808L"}

_SIGNED = {"abs", "negative"}
"""The functions that wrap around for the least whole number."""

_ROUNDING = {"round", "bround"}
"""The functions that wrap around where they round to tens."""

_MOMENTS = {
    *("convert_timezone", "date_trunc", "from_utc_timestamp", "make_timestamp", "make_timestamp_ltz"),
    *("make_timestamp_ntz", "timestamp_millis", "timestamp_seconds", "timestampadd", "to_utc_timestamp"),
}
"""The functions whose result may lie past the ends of time, which would stop a query: here TRY_ADD gives NULL."""

_DAYS = {"add_months", "make_date"}
"""The same for days."""

_DAYS_LATER = {"date_add": "TRY_ADD", "date_sub": "TRY_SUBTRACT", "dateadd": "TRY_ADD"}
"""The functions that count days, which wrap around in silence."""


def user_sql(expression: exp.Expression) -> str:
    """The expression as Spark SQL.

    With ANSI mode off, as the session has it, division by zero and bad text already give NULL. Whole numbers and days
    would wrap around and casts would cut digits off, both in silence, and times past the ends of time would stop the
    query: they become Spark's try_ forms.

    >>> from sqlglot import parse_one
    >>> user_sql(parse_one("CAST(x AS INT)", dialect=Esl))
    'TRY_CAST(x AS INT)'
    """
    return str(expression.sql(dialect=Surviving))


class Surviving(Esl):
    """How ESL is written to Spark."""

    class Generator(Esl.Generator):
        """Writes what can fail in the form that gives NULL."""

        # Spark's entry would write TryCast as CAST.
        TRANSFORMS: ClassVar = {
            node: write for node, write in Esl.Generator.TRANSFORMS.items() if node is not exp.TryCast
        }

        def add_sql(self, expression: exp.Add) -> str:
            """`a + b`."""
            return self._guarded(expression, "TRY_ADD", "+")

        def sub_sql(self, expression: exp.Sub) -> str:
            """`a - b`."""
            return self._guarded(expression, "TRY_SUBTRACT", "-")

        def mul_sql(self, expression: exp.Mul) -> str:
            """`a * b`."""
            return self._guarded(expression, "TRY_MULTIPLY", "*")

        def neg_sql(self, expression: exp.Neg) -> str:
            """`-a`."""
            zero = _zero(expression.type)
            if zero is None or isinstance(expression.this, exp.Literal) or SUFFIX in expression.this.meta:
                return str(super().neg_sql(expression))
            return f"TRY_SUBTRACT({zero}, {self.sql(expression, 'this')})"

        def anonymous_sql(self, expression: exp.Anonymous) -> str:
            """Functions that fail have a form that does not."""
            if expression.name.lower() in _FORGIVING:
                return self.func(f"TRY_{expression.name.upper()}", *expression.expressions)
            name, written = expression.name.lower(), super().anonymous_sql(expression)
            arguments = expression.expressions
            if name in _WHOLE and len(arguments) == 1:  # a cast, which would cut digits off
                return f"TRY_CAST({self.sql(arguments[0])} AS {name.upper()})"
            if name in _SIGNED and len(arguments) == 1 and (zero := _zero(arguments[0].type)):
                least = f"TRY_SUBTRACT({zero}, {self.sql(arguments[0])})"
                return least if name == "negative" else f"NULLIF({written}, {_LEAST[zero]})"
            tens = len(arguments) == 2 and not isinstance(arguments[1], exp.Literal)
            if name in _ROUNDING and tens and _zero(arguments[0].type):
                wide = self.func(name, exp.cast(arguments[0], "DECIMAL(20, 0)"), arguments[1])
                return f"TRY_CAST({wide} AS {self.sql(arguments[0].type)})"
            if name in _DAYS_LATER and len(arguments) == 2:
                return self._days_later(_DAYS_LATER[name], f"CAST({self.sql(arguments[0])} AS DATE)", arguments[1])
            if name in _MOMENTS or (name in _DAYS_LATER and len(arguments) == 3):
                return f"TRY_ADD({written}, INTERVAL '0' SECOND)"
            return f"TRY_ADD({written}, 0)" if name in _DAYS else written

        def trycast_sql(self, expression: exp.TryCast) -> str:
            """`CAST(a AS t)`, which sqlglot reads as the forgiving form that it is in Spark."""
            return self.cast_sql(expression, safe_prefix="TRY_")

        def _days_later(self, function: str, day: str, count: exp.Expr) -> str:
            number = self.sql(count)
            if count.type is not None and not _is_whole(count):
                number = f"TRY_CAST({number} AS INT)"
            return f"DATE_FROM_UNIX_DATE({function}(UNIX_DATE({day}), {number}))"

        def _guarded(self, expression: exp.Binary, function: str, operator: str) -> str:
            left, right, type_ = expression.left, expression.right, expression.type
            apart = function == "TRY_SUBTRACT" and _is_moment(left) and _is_moment(right)
            if apart:
                return self.func(function, left, right)
            if type_ is None or not _can_overflow(type_):
                return self.binary(expression, operator)
            if c.is_date(type_) and _is_whole(right):
                return self._days_later(function, self.sql(left), right)
            if c.is_date(type_) and _is_whole(left):
                return self._days_later(function, self.sql(right), left)
            return self.func(function, left, right)


def _can_overflow(type_: exp.DataType) -> bool:
    return type_.is_type(*_WHOLE) or c.is_date(type_) or c.is_timestamp(type_)


def _zero(type_: exp.Expr | None) -> str | None:
    """Zero of a type of whole numbers, whose least number has no negative; None for other types."""
    return next((z for t, z in _ZEROS.items() if isinstance(type_, exp.DataType) and type_.is_type(t)), None)


def _is_moment(expression: exp.Expr) -> bool:
    return expression.type is not None and c.is_timestamp(expression.type)


def _is_whole(expression: exp.Expr) -> bool:
    return expression.type is not None and expression.type.is_type(*_WHOLE)

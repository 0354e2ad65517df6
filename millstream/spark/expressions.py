"""Bound expressions to Spark's text; a step that fails for one row gives NULL there, and the query lives."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

from millstream.language.dialect import Esl

_FORGIVING = {"aes_decrypt", "parse_json", "to_binary", "to_number", "url_decode"}
"""The functions that stop a query even with ANSI mode off, and have a try_ form."""

_WHOLE = ("tinyint", "smallint", "int", "bigint")


def spark_text(expression: exp.Expression) -> str:
    """The expression as Spark SQL.

    With ANSI mode off, as the session has it, division by zero and bad text already give NULL. Whole numbers
    would wrap around and casts would cut digits off, both in silence: they become Spark's try_ forms.

    >>> from sqlglot import parse_one
    >>> spark_text(parse_one("CAST(x AS INT)", dialect=Esl))
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
            if (
                expression.type is not None
                and expression.type.is_type("int", "bigint")
                and not expression.this.is_number
            ):
                return self.func("TRY_SUBTRACT", exp.Literal.number(0), expression.this)
            return super().neg_sql(expression)

        def anonymous_sql(self, expression: exp.Anonymous) -> str:
            """Functions that fail have a form that does not."""
            if expression.name.lower() in _FORGIVING:
                return self.func(f"TRY_{expression.name.upper()}", *expression.expressions)
            return super().anonymous_sql(expression)

        def trycast_sql(self, expression: exp.TryCast) -> str:
            """`CAST(a AS t)`, which sqlglot reads as the forgiving form that it is in Spark."""
            return self.cast_sql(expression, safe_prefix="TRY_")

        def _guarded(self, expression: exp.Binary, function: str, operator: str) -> str:
            if expression.type is not None and expression.type.is_type(*_WHOLE):
                return self.func(function, expression.left, expression.right)
            return self.binary(expression, operator)

"""Spark's SQL through sqlglot, so that the text which comes out means what the text that went in meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from millstream.language.parse.nodes import EslWindow

TYPED = frozenset(
    [
        "APPROX_COUNT_DISTINCT",
        "AVG",
        "BIT_AND",
        "BIT_OR",
        "BIT_XOR",
        "BOOL_AND",
        "BOOL_OR",
        "COALESCE",
        "COLLECT_SET",
        "CORR",
        "COUNT",
        "COUNT_IF",
        "COVAR_POP",
        "COVAR_SAMP",
        "CUME_DIST",
        "DENSE_RANK",
        "EXPLODE",
        "EXPLODE_OUTER",
        "GREATEST",
        "GROUPING",
        "GROUPING_ID",
        "IF",
        "INLINE",
        "KURTOSIS",
        "LAG",
        "LEAD",
        "LEAST",
        "MAX",
        "MEDIAN",
        "MIN",
        "NTH_VALUE",
        "NTILE",
        "NULLIF",
        "PERCENT_RANK",
        "POSEXPLODE",
        "POSEXPLODE_OUTER",
        "RANK",
        "ROW_NUMBER",
        "SKEWNESS",
        "STACK",
        "STDDEV",
        "STDDEV_POP",
        "STDDEV_SAMP",
        "SUM",
        "VAR_POP",
        "VARIANCE",
    ]
)
"""The functions that become sqlglot's own nodes; each comes out under the name and with the arguments it had."""

SPECIAL = frozenset(["CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTR", "SUBSTRING", "TRIM", "TRY_CAST"])
"""The functions that have a syntax of their own between the parentheses."""

SUFFIX = "suffix"
"""Where a number remembers the letters after it: 2L is a literal to Spark, CAST(2 AS BIGINT) is not."""

_SUFFIXES = frozenset(Spark.Tokenizer.NUMERIC_LITERALS)
_WITH_UNIT = ("DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF", "TIMESTAMPADD", "TIMESTAMPDIFF")
LITERAL_TYPES = (exp.DType.DATE, exp.DType.TIME, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPNTZ)
"""The types before a text that make a literal of it."""


_LEVELS: tuple[dict[TokenType, type[exp.Binary]], ...] = (
    {**SparkParser.EQUALITY, **SparkParser.COMPARISON},
    {TokenType.PIPE: exp.BitwiseOr},
    {TokenType.CARET: exp.BitwiseXor},
    {TokenType.AMP: exp.BitwiseAnd},
)
"""The operators from comparisons to shifts, the loosest first: those of one level go from left to right."""


def _one_argument(node: type[exp.Func], name: str) -> Callable[[list[Any]], exp.Expr]:
    """MAX and MIN: sqlglot makes GREATEST and LEAST of more than one argument, Spark refuses them."""

    def build(args: list[Any]) -> exp.Expr:
        return node(this=args[0]) if len(args) == 1 else exp.Anonymous(this=name, expressions=args)

    return build


def _unit_first(name: str) -> Callable[[list[Any]], exp.Expr]:
    """DATEADD(DAY, 1, x): the unit is a word, not a column."""

    def build(args: list[Any]) -> exp.Expr:
        if len(args) == 3 and isinstance(args[0], exp.Column) and not args[0].table:
            args = [exp.Var(this=args[0].name), *args[1:]]
        return exp.Anonymous(this=name, expressions=args)

    return build


def _positive(parser: Any) -> exp.Expr:
    """`+x`: sqlglot drops the sign, but Spark makes a number of a text with it."""
    operand = parser._parse_unary()  # noqa: SLF001
    if operand is None:
        parser.raise_error("Expecting an expression")
    return exp.Anonymous(this="POSITIVE", expressions=[operand])


def _window(inner: str, node: exp.Expr) -> str:
    """A window clause behind what it belongs to, as it was written."""
    form = str(node.args["form"]).split()[0]
    word = "" if form in {"[...]", "EMIT"} else "AS " if form == "WINDOW" else f"{form} "
    return f"{inner} {word}{node.args['text']}".strip()


class SparkFaithful(Spark):
    """Spark's dialect, mended where a round trip through sqlglot changes what Spark computes.

    sqlglot turns many functions into a node that stands for the same idea in all dialects, and writes another
    Spark function for it. Here a function stays a call of the very same name, unless its node is known to be
    true to it: the tree holds `exp.Anonymous`, and `millstream.language.types.functions` knows what it is.

    >>> import sqlglot
    >>> text = "SELECT DATE_SUB(d, n), SPACE(2), x - INTERVAL 1 DAY 2 HOURS, a & b << 2"
    >>> sqlglot.parse_one(text, dialect="spark").sql(dialect="spark")
    "SELECT DATE_ADD(d, n * -1), REPEAT(' ', 2), x - INTERVAL '1' DAY + INTERVAL '2' HOURS, SHIFTLEFT(a & b, 2)"
    >>> sqlglot.parse_one(text, dialect=SparkFaithful).sql(dialect=SparkFaithful)
    "SELECT DATE_SUB(d, n), SPACE(2), x - (INTERVAL '1' DAY + INTERVAL '2' HOURS), a & b << 2"
    """

    class Parser(SparkParser):
        """Functions keep their names."""

        FUNCTIONS: ClassVar = {
            **{name: build for name, build in SparkParser.FUNCTIONS.items() if name in TYPED},
            "MAX": _one_argument(exp.Max, "MAX"),
            "MIN": _one_argument(exp.Min, "MIN"),
            **{name: _unit_first(name) for name in _WITH_UNIT},
        }
        FUNCTION_PARSERS: ClassVar = {
            name: parse for name, parse in SparkParser.FUNCTION_PARSERS.items() if name in SPECIAL
        }
        # ANY(x) is an aggregate, and TRANSFORM(...) USING runs a program: only the function is left.
        NO_PAREN_FUNCTION_PARSERS: ClassVar = {
            name: parse for name, parse in SparkParser.NO_PAREN_FUNCTION_PARSERS.items() if name in {"CASE", "IF"}
        }
        UNARY_PARSERS: ClassVar = {**SparkParser.UNARY_PARSERS, TokenType.PLUS: _positive}
        # Spark's order of operators is not sqlglot's: see _parse_bitwise.
        EQUALITY: ClassVar = {}
        COMPARISON: ClassVar = {}

        def _parse_term(self, parse_mod: bool = True) -> exp.Expr | None:
            """`||` binds as + and - do."""
            this = super()._parse_term(parse_mod)
            while self._match(TokenType.DPIPE):
                this = self.expression(exp.DPipe(this=this, expression=self._parse_factor(parse_mod), safe=True))
                while self._match_set(self.TERM):
                    sign = self.TERM[self._prev.token_type]
                    this = self.expression(sign(this=this, expression=self._parse_factor(parse_mod)))
            return this

        def _parse_bitwise(self) -> exp.Expr | None:
            """What predicates as IN and BETWEEN are about: comparisons, then `|`, `^`, `&`, shifts, and sums."""
            return self._parse_level(0)

        def _parse_level(self, level: int) -> exp.Expr | None:
            if level == len(_LEVELS):
                return self._parse_shift()
            this = self._parse_level(level + 1)
            while self._match_set(_LEVELS[level]):
                sign = _LEVELS[level][self._prev.token_type]
                this = self.expression(sign(this=this, expression=self._parse_level(level + 1)))
            return this

        def _parse_shift(self) -> exp.Expr | None:
            this = self._parse_term()
            while True:
                if self._match_pair(TokenType.LT, TokenType.LT):
                    sign: type[exp.Binary] = exp.BitwiseLeftShift
                elif self._match_pair(TokenType.GT, TokenType.GT):
                    sign = exp.BitwiseRightShift
                else:
                    return this
                this = self.expression(sign(this=this, expression=self._parse_term()))

        def build_cast(self, strict: bool, **kwargs: Any) -> exp.Expr:
            """Numbers with a suffix come by here too, as 2L."""
            suffix, number = self._prev.text.upper(), kwargs["this"]
            cast: exp.Expr = super().build_cast(strict, **kwargs)
            if suffix in _SUFFIXES and isinstance(number, exp.Literal) and not number.is_string:
                cast.meta[SUFFIX] = number.name + suffix
            return cast

        def _parse_value(self, values: bool = True) -> exp.Tuple | None:
            # VALUES 1, 2 AS t(x): the alias belongs to the table, and sqlglot gives it to the last value.
            if self._match(TokenType.L_PAREN, advance=False):
                return super()._parse_value(values)
            value = self._parse_disjunction()
            return exp.Tuple(expressions=[value]) if value else None

        def _parse_type(self, parse_interval: bool = True, fallback_to_identifier: bool = False) -> exp.Expr | None:
            """A type stands before a text, as in DATE '2024-01-01'; sqlglot takes INT 0 too, and nobody else does."""
            first = self._curr
            found = super()._parse_type(parse_interval, fallback_to_identifier)
            number = isinstance(found, exp.Cast) and isinstance(found.this, exp.Literal) and not found.this.is_string
            if number and first is not None and first.token_type in self.TYPE_TOKENS:
                self.raise_error("Expecting a text behind the type", first)
            return found

        def _parse_interval(self, require_interval: bool = True, parse_function_unit: bool = True) -> Any:
            start = self._index
            if not self._match(TokenType.INTERVAL) and require_interval:
                return None
            text = self._match(TokenType.STRING, advance=False)
            this = self._parse_primary() if text else self._parse_unary()
            if this is None or isinstance(this, exp.Column):
                self._retreat(start)
                return None
            interval = self._parse_interval_span(this, parse_function_unit=parse_function_unit)
            if not text and not interval.args.get("unit"):
                self._retreat(start)  # a column of the name interval
                return None
            # INTERVAL 1 DAY 2 HOURS is a sum, which a minus before it must not tear apart. Unlike in sqlglot,
            # INTERVAL 1 DAY + 2 * x is not: the plus is the reader's own.
            if self._match_set((TokenType.STRING, TokenType.NUMBER), advance=False):
                rest = self._parse_interval(False, parse_function_unit)
                return exp.Paren(this=exp.Add(this=interval, expression=rest))
            return interval

    class Generator(SparkGenerator):
        """Operators and literals come out as they were written."""

        TYPE_MAPPING: ClassVar = {**SparkGenerator.TYPE_MAPPING, exp.DType.TIME: "TIME"}
        TRANSFORMS: ClassVar = {
            **SparkGenerator.TRANSFORMS,
            # As functions they would take over the grouping of sqlglot, whose precedence is not Spark's.
            exp.BitwiseLeftShift: lambda self, e: self.binary(e, "<<"),
            exp.BitwiseRightShift: lambda self, e: self.binary(e, ">>"),
            # For messages: Spark never sees one.
            EslWindow: lambda self, e: _window(self.sql(e, "this"), e),
        }

        def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
            """DATE '...' stays a literal: a CAST would know no 'today', and make NULL of a wrong date."""
            to, this = expression.to, expression.this
            if SUFFIX in expression.meta:
                return str(expression.meta[SUFFIX])
            if type(expression) is exp.Cast and this.is_string and to.this in LITERAL_TYPES:
                return f"{self.sql(to)} {self.sql(this)}"
            return super().cast_sql(expression, safe_prefix=safe_prefix)

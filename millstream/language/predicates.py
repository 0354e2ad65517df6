"""Bound conditions and other expressions on Arrow tables, for what never becomes rows of Spark.

That is what is left of ON when a window join has found the pairs of equal keys, and all that is computed of tuples that
a stage reads by itself. An expression means here what it means in the text that Spark gets, see
`millstream.spark.expressions`: a step that fails for one row gives NULL there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial, reduce
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from millstream.catalog.arrow import carried, to_arrow
from millstream.catalog.schema import UNKNOWN, SqlType, type_name
from millstream.language import coercion as c
from millstream.language import decimals
from millstream.language import predicate_functions as f
from millstream.language import written_values as w
from millstream.language.predicate_steps import ColumnOf, Constant, Step, Whole, applied, chosen
from millstream.language.spark_dialect import SUFFIX
from millstream.language.types import infer

Predicate = Callable[[pa.Table], pa.Array]
"""Says of each row of a table whether a condition holds, or what an expression gives; NULL where that is unknown."""


def unsupported(condition: exp.Expression) -> exp.Expression | None:
    """The first part of a bound condition that cannot be evaluated here; None if all of it can.

    The columns must have their types, as the binder leaves them.
    """
    columns = list(condition.find_all(exp.Column))
    try:
        predicate(condition, {n.name: n.type for n in columns if isinstance(n.type, exp.DataType)})
    except _Unsupported as refusal:
        return refusal.node
    return None


def predicate(condition: exp.Expression, types: Mapping[str, SqlType]) -> Predicate:
    """A bound condition as a function of tables that have its columns; it can be pickled.

    ValueError says that a part of it is unsupported.

    >>> from sqlglot import parse_one
    >>> from millstream.catalog.schema import sql_type
    >>> holds = predicate(parse_one('"a.x" > 1 AND NOT "b.y"'), {"a.x": sql_type("int"), "b.y": sql_type("boolean")})
    >>> holds(pa.table({"a.x": pa.array([1, 2, 3], pa.int32()), "b.y": [None, None, False]})).to_pylist()
    [False, None, True]
    """
    builder, typed = _prepared(condition, types)
    return Whole(builder.truth(typed))


def value(expression: exp.Expression, types: Mapping[str, SqlType]) -> tuple[Predicate, pa.DataType]:
    """A bound expression as a function of tables that have its columns, and the type of what it gives.

    ValueError says that a part of it is unsupported.

    >>> from sqlglot import parse_one
    >>> from millstream.catalog.schema import sql_type
    >>> double, type_ = value(parse_one("x * 2"), {"x": sql_type("int")})
    >>> double(pa.table({"x": pa.array([1, None, 2**30], pa.int32())})).to_pylist(), str(type_)
    ([2, None, None], 'int32')
    """
    builder, typed = _prepared(expression, types)
    type_ = carried(_type(typed))
    if type_ is None:
        raise _Unsupported(expression)
    column = typed
    while isinstance(column, exp.Cast | exp.Paren) and type_name(_type(column.this)) == type_name(_type(column)):
        column = column.this
    # A column as it is may be an array; nothing is computed of these.
    plain = isinstance(column, exp.Column) and not column.args.get("table")
    return Whole(ColumnOf(column.name, type_) if plain else builder.step(typed)), type_


def _prepared(expression: exp.Expression, types: Mapping[str, SqlType]) -> tuple[_Builder, exp.Expression]:
    typed = expression.copy()
    infer(typed, types)
    return _Builder({id(copied): node for copied, node in zip(typed.walk(), expression.walk(), strict=True)}), typed


class _Unsupported(ValueError):
    """A part that cannot be evaluated."""

    def __init__(self, node: exp.Expression) -> None:
        super().__init__(f"cannot evaluate {node.sql(dialect='spark')}")
        self.node = node


# -- the way there -------------------------------------------------------------------------------------------

_COMPARISONS: dict[type[exp.Expr], Callable[..., Any]] = {
    exp.EQ: f.equal,
    exp.NEQ: f.not_equal,
    exp.LT: f.less,
    exp.LTE: f.less_equal,
    exp.GT: f.greater,
    exp.GTE: f.greater_equal,
    exp.NullSafeEQ: f.same,
    exp.NullSafeNEQ: f.not_same,
}
_ORDER = (f.less, f.less_equal, f.greater, f.greater_equal)
_NUMBERS: dict[type[exp.Expr], Callable[..., Any]] = {
    exp.Add: f.add,
    exp.Sub: f.subtract,
    exp.Mul: f.multiply,
    exp.Div: f.divide,
    exp.Mod: f.remainder,
}
_DECIMALS: dict[type[exp.Expr], Callable[..., Any]] = {
    exp.Add: f.decimal_add,
    exp.Sub: f.decimal_subtract,
    exp.Mul: f.decimal_multiply,
    exp.Div: f.decimal_divide,
    exp.Mod: f.decimal_remainder,
}
_TEXTS: dict[str, Callable[..., Any]] = {"lower": f.lower, "upper": f.upper, "length": f.length}
_UNITS = {"unix_micros": 1, "unix_millis": 1_000, "unix_seconds": 1_000_000}
_SIGNED_DIGITS = 34


class _Builder:
    """Makes steps of the parts of a condition that knows its types."""

    def __init__(self, originals: Mapping[int, exp.Expr]) -> None:
        self._originals = originals

    def _refusal(self, node: exp.Expr) -> _Unsupported:
        # The part of the condition that was given: it knows its place in the text.
        found = self._originals.get(id(node), node)
        assert isinstance(found, exp.Expression)  # noqa: S101
        return _Unsupported(found)

    def truth(self, node: exp.Expr) -> Step:
        """A part that must be true or false."""
        return self._as(node, c.BOOLEAN)

    def _as(self, node: exp.Expr, type_: SqlType) -> Step:
        """A part in a type that it can be turned into without being asked to."""
        from_, target = _type(node), to_arrow(type_)
        if target is None:
            raise self._refusal(node)
        if c.is_null(from_):
            return Constant(pa.scalar(None, target))
        literal = node.unnest()
        if c.is_string(from_) and (c.is_date(type_) or c.is_timestamp(type_)):
            return self._written_time(literal, type_)
        step = self.step(node)
        if type_name(from_) == type_name(type_):
            return step
        if not _converts(from_, type_):
            raise self._refusal(node)
        return applied(partial(f.convert, type_=target), step)

    def step(self, node: exp.Expr) -> Step:
        """A part in its own type."""
        build = self._BUILD.get(type(node))
        if build is None or c.is_unknown(_type(node)):
            raise self._refusal(node)
        return build(self, node)

    # -- leaves ----------------------------------------------------------------------------------------------

    def _column(self, node: exp.Expr) -> Step:
        type_ = to_arrow(_type(node))
        if type_ is None or node.args.get("table"):
            raise self._refusal(node)
        return ColumnOf(node.name, type_)

    def _literal(self, node: exp.Expr) -> Step:
        return self._number(node, node.name) if not node.is_string else Constant(pa.scalar(node.name, pa.string()))

    def _number(self, node: exp.Expr, text: str) -> Step:
        type_ = _type(node)
        if c.is_decimal(type_):
            if (decimals.digits(type_) or (0, 0))[0] > f.MOST_DIGITS:
                raise self._refusal(node)
            return Constant(pa.scalar(Decimal(text), to_arrow(type_)))
        try:
            return Constant(pa.scalar(int(text) if c.is_integral(type_) else float(text), to_arrow(type_)))
        except pa.ArrowInvalid:  # 200Y
            raise self._refusal(node) from None

    def _boolean(self, node: exp.Expr) -> Step:
        return Constant(pa.scalar(bool(node.this), pa.bool_()))

    def _null(self, node: exp.Expr) -> Step:
        return Constant(pa.scalar(None, pa.bool_()))

    def _inner(self, node: exp.Expr) -> Step:
        return self.step(node.this)

    # -- comparisons and logic -------------------------------------------------------------------------------

    def _comparison(self, node: exp.Expr) -> Step:
        return self._compared(node, _COMPARISONS[type(node)], node.this, node.expression)

    def _compared(self, node: exp.Expr, function: Callable[..., Any], left: exp.Expr, right: exp.Expr) -> Step:
        type_ = _meeting(left, right)
        if type_ is None:
            raise self._refusal(node)
        for side, other in ((left, right), (right, left)):
            # Spark makes TRUE or FALSE of these even for NULL.
            if function in _ORDER and c.is_integral(_type(side)) and _is_beyond(other):
                raise self._refusal(node)
        return applied(function, self._as(left, type_), self._as(right, type_))

    def _between(self, node: exp.Expr) -> Step:
        if node.args.get("symmetric"):
            raise self._refusal(node)
        low = self._compared(node, f.greater_equal, node.this, node.args["low"])
        high = self._compared(node, f.less_equal, node.this, node.args["high"])
        return applied(pc.and_kleene, low, high)

    def _in(self, node: exp.Expr) -> Step:
        listed = node.expressions
        if not listed or any(node.args.get(key) for key in ("query", "unnest", "field")):
            raise self._refusal(node)
        type_ = _known(c.widest([_type(n) for n in (node.this, *listed)], texts=False))
        if type_ is None:
            raise self._refusal(node)
        value, *steps = (self._as(n, type_) for n in (node.this, *listed))
        constants = [s.value for s in steps if isinstance(s, Constant)]
        if len(constants) == len(steps) and type_.this not in (exp.DType.FLOAT, exp.DType.DOUBLE):
            wanted = pa.array([v.as_py() for v in constants if v.is_valid], to_arrow(type_))
            return applied(partial(f.among, wanted=wanted, with_null=len(wanted) < len(constants)), value)
        return reduce(partial(applied, pc.or_kleene), (applied(f.equal, value, step) for step in steps))

    def _is(self, node: exp.Expr) -> Step:
        if isinstance(node.expression, exp.Null):
            inner = node.this.unnest()
            if isinstance(inner, exp.Column) and not inner.args.get("table"):
                return applied(pc.is_null, ColumnOf(inner.name, None))
            return applied(pc.is_null, self.step(node.this))
        if isinstance(node.expression, exp.Boolean):
            return applied(f.is_true if node.expression.this else f.is_false, self.truth(node.this))
        raise self._refusal(node)

    def _not(self, node: exp.Expr) -> Step:
        return applied(pc.invert, self.truth(node.this))

    def _and(self, node: exp.Expr) -> Step:
        return applied(pc.and_kleene, self.truth(node.this), self.truth(node.expression))

    def _or(self, node: exp.Expr) -> Step:
        return applied(pc.or_kleene, self.truth(node.this), self.truth(node.expression))

    def _case(self, node: exp.Expr) -> Step:
        type_, default = _type(node), node.args.get("default")
        found = self._branch(default, type_) if default else Constant(pa.scalar(None, self._arrow(node)))
        for branch in reversed(node.args["ifs"]):
            when = self._compared(node, f.equal, node.this, branch.this) if node.this else self.truth(branch.this)
            found = chosen(when, self._branch(branch.args["true"], type_), found)
        return found

    def _if(self, node: exp.Expr) -> Step:
        type_, default = _type(node), node.args.get("false")
        other = self._branch(default, type_) if default else Constant(pa.scalar(None, self._arrow(node)))
        return chosen(self.truth(node.this), self._branch(node.args["true"], type_), other)

    def _branch(self, node: exp.Expr, type_: SqlType) -> Step:
        """A part that may be chosen: an array too, if no element of it must be turned into something else."""
        target = carried(type_)
        if target is None or target == to_arrow(type_):
            return self._as(node, type_)
        if c.is_null(_type(node)):
            return Constant(pa.scalar(None, target))
        if type_name(_type(node)) != type_name(type_):
            raise self._refusal(node)
        return self.step(node)

    def _arrow(self, node: exp.Expr) -> pa.DataType:
        type_ = carried(_type(node))
        if type_ is None:
            raise self._refusal(node)
        return type_

    def _coalesce(self, node: exp.Expr) -> Step:
        return self._first([node.this, *node.expressions], _type(node))

    def _first(self, nodes: Sequence[exp.Expr], type_: SqlType) -> Step:
        return applied(pc.coalesce, *(self._as(n, type_) for n in nodes))

    def _extreme(self, node: exp.Expr) -> Step:
        function = f.greatest if isinstance(node, exp.Greatest) else f.least
        return reduce(partial(applied, function), (self._as(n, _type(node)) for n in (node.this, *node.expressions)))

    # -- numbers ---------------------------------------------------------------------------------------------

    def _arithmetic(self, node: exp.Expr) -> Step:
        return self._computed(node, type(node), node.this, node.expression)

    def _computed(self, node: exp.Expr, operator: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> Step:
        type_, sides = _type(node), (left, right)
        if c.is_date(type_) or c.is_timestamp(type_):
            return self._shifted(node)
        if not c.is_numeric(type_) or any(c.is_string(_type(n)) for n in sides):
            raise self._refusal(node)
        if not c.is_decimal(type_):
            return applied(_NUMBERS[operator], *(self._as(n, type_) for n in sides))
        digits = [decimals.digits(_type(n)) for n in sides]
        steps = [self._as(n, decimals.decimal(*d)) for n, d in zip(sides, digits, strict=True) if d]
        if len(steps) < 2:
            raise self._refusal(node)
        return applied(partial(_DECIMALS[operator], type_=to_arrow(type_)), *steps)

    def _whole_division(self, node: exp.Expr) -> Step:
        sides = node.this, node.expression
        if not all(c.is_integral(_type(n)) for n in sides):
            raise self._refusal(node)
        return applied(f.whole_divide, *(self._as(n, c.BIGINT) for n in sides))

    def _shifted(self, node: exp.Expr) -> Step:
        """A date or a timestamp, and an interval."""
        time, length, sign = node.this, node.expression, -1 if isinstance(node, exp.Sub) else 1
        if isinstance(node, exp.Add) and c.is_interval(_type(time)):
            time, length = length, time
        micros = w.micros(length)
        if micros is None:
            raise self._refusal(node)
        by = sign * micros
        return applied(partial(f.shift, by=by // w.DAY if c.is_date(_type(node)) else by), self._as(time, _type(node)))

    def _negative(self, node: exp.Expr) -> Step:
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return self._number(node, f"-{inner.name}")
        if SUFFIX in inner.meta:  # -128Y is a number, 128Y is none
            return self._number(node, f"-{inner.this.name}")
        type_ = _type(node)
        if not _has_negative(_type(inner)):
            raise self._refusal(node)
        # As in the text that Spark gets: the small types and numbers that are written out are not guarded.
        guarded = type_.this in (exp.DType.INT, exp.DType.BIGINT) and not inner.is_number
        return applied(f.negate if guarded else pc.negate, self.step(inner))

    def _cast(self, node: exp.Expr) -> Step:
        from_, type_, inner = _type(node.this), _type(node), node.this.unnest()
        if SUFFIX in node.meta and isinstance(inner, exp.Literal):  # 2L, 1.5BD
            return self._number(node, inner.name)
        if c.is_string(from_) and not c.is_string(type_):
            return self._written_time(inner, type_)
        if c.is_null(from_):
            return Constant(pa.scalar(None, self._arrow(node)))
        return self._as(node.this, type_)

    # -- texts and times -------------------------------------------------------------------------------------

    def _written_time(self, node: exp.Expr, type_: SqlType) -> Step:
        value = None
        if isinstance(node, exp.Literal) and node.is_string:
            if c.is_date(type_):
                value = w.date(node.name)
            elif c.is_timestamp(type_):
                value = w.timestamp(node.name, zoned=type_.this is not exp.DType.TIMESTAMPNTZ)
        if value is None:
            raise self._refusal(node)
        return Constant(pa.scalar(value, to_arrow(type_)))

    def _like(self, node: exp.Expr) -> Step:
        return self._like_with(node, "\\")

    def _escape(self, node: exp.Expr) -> Step:
        escape = node.expression
        if not isinstance(node.this, exp.Like) or not escape.is_string or len(escape.name) != 1:
            raise self._refusal(node)
        return self._like_with(node.this, escape.name)

    def _like_with(self, node: exp.Expr, escape: str) -> Step:
        pattern = node.expression.unnest()
        regex = w.like_regex(pattern.name, escape) if isinstance(pattern, exp.Literal) and pattern.is_string else None
        if regex is None:
            raise self._refusal(node)
        found = applied(partial(f.matches, pattern=regex), self._text(node.this))
        return applied(pc.invert, found) if node.args.get("negate") else found

    def _text(self, node: exp.Expr) -> Step:
        """A part that must be a text, or can be read as one."""
        return self._as(node, c.STRING)

    def _pipe(self, node: exp.Expr) -> Step:
        return applied(f.concat, self._text(node.this), self._text(node.expression))

    def _substring(self, node: exp.Expr) -> Step:
        start, count = (node.args.get(key) for key in ("start", "length"))
        places = [None if n is None else w.whole_number(n) for n in (start, count)]
        if not c.is_string(_type(node.this)) or places[0] is None or (count is not None and places[1] is None):
            raise self._refusal(node)
        return applied(partial(f.substring, start=places[0], count=places[1]), self.step(node.this))

    def _call(self, node: exp.Expr) -> Step:
        name, given = node.name.lower(), node.expressions
        type_ = _type(node)
        match name, len(given):
            case ("lower" | "upper" | "length", 1) if c.is_string(_type(given[0])):
                return applied(_TEXTS[name], self.step(given[0]))
            case ("concat", _) if given and c.is_string(type_):
                return reduce(partial(applied, f.concat), map(self._text, given))
            case ("abs", 1) if _has_negative(_type(given[0])):
                return applied(pc.abs, self.step(given[0]))
            case ("positive", 1) if c.is_numeric(_type(given[0])):
                return self.step(given[0])
            case ("nvl" | "ifnull", 2):
                return self._first(given, type_)
            case ("mod", 2) if c.is_numeric(type_):
                return self._computed(node, exp.Mod, *given)
            case ("pmod", 2) if c.is_numeric(type_) and not c.is_decimal(type_):
                return applied(f.positive_remainder, *(self._as(n, type_) for n in given))
            case ("unix_micros" | "unix_millis" | "unix_seconds", 1) if c.is_timestamp(_type(given[0])):
                return applied(partial(f.since_1970, unit=_UNITS[name]), self._as(given[0], c.TIMESTAMP))
            case ("array", _) if given:
                return self._array(node, given)
        raise self._refusal(node)

    def _array(self, node: exp.Expr, given: Sequence[exp.Expr]) -> Step:
        type_ = _type(node)
        if carried(type_) is None or carried(type_) == carried(type_.expressions[0]):
            raise self._refusal(node)
        steps = [self._as(n, type_.expressions[0]) for n in given]
        if all(isinstance(step, Constant) for step in steps):
            raise self._refusal(node)
        return applied(f.array_of, *steps)

    _BUILD: ClassVar[dict[type[exp.Expr], Callable[[_Builder, exp.Expr], Step]]] = {
        exp.Column: _column,
        exp.Literal: _literal,
        exp.Boolean: _boolean,
        exp.Null: _null,
        exp.Paren: _inner,
        **dict.fromkeys(_COMPARISONS, _comparison),
        exp.Between: _between,
        exp.In: _in,
        exp.Is: _is,
        exp.Not: _not,
        exp.And: _and,
        exp.Or: _or,
        exp.Case: _case,
        exp.If: _if,
        exp.Coalesce: _coalesce,
        exp.Greatest: _extreme,
        exp.Least: _extreme,
        **dict.fromkeys(_NUMBERS, _arithmetic),
        exp.IntDiv: _whole_division,
        exp.Neg: _negative,
        exp.Cast: _cast,
        exp.TryCast: _cast,
        exp.Like: _like,
        exp.Escape: _escape,
        exp.DPipe: _pipe,
        exp.Substring: _substring,
        exp.Anonymous: _call,
    }


# -- types and literals --------------------------------------------------------------------------------------


def _type(node: exp.Expr) -> SqlType:
    return node.type if isinstance(node.type, exp.DataType) else UNKNOWN


def _known(type_: SqlType | None) -> SqlType | None:
    """A type, if it can be told; that of NULLs alone does not matter."""
    if type_ is None or c.is_unknown(type_):
        return None
    return c.BOOLEAN if c.is_null(type_) else type_


def _has_negative(type_: SqlType) -> bool:
    """Whether it is a number whose sign can be changed: beyond 34 digits, Spark loses some of a decimal's."""
    digits = decimals.digits(type_) or (0, 0)
    return c.is_numeric(type_) and digits[0] <= _SIGNED_DIGITS


def _is_time(type_: SqlType) -> bool:
    return c.is_date(type_) or c.is_timestamp(type_)


def _converts(from_: SqlType, type_: SqlType) -> bool:
    """Whether values of a type can be turned into another one."""
    if c.is_string(type_):
        return c.is_integral(from_)
    return any(test(from_) and test(type_) for test in (c.is_numeric, _is_time))


def _meeting(left: exp.Expr, right: exp.Expr) -> SqlType | None:
    """The type in which two values are compared."""
    for one, other in ((left, _type(right)), (right, _type(left))):
        if c.is_string(_type(one)) and _is_time(other):
            return other
        literal, digits = one.this if isinstance(one, exp.Neg) else one, decimals.digits(other)
        if c.is_decimal(other) and digits and c.is_integral(_type(one)) and isinstance(literal, exp.Literal):
            # A whole number that is written out needs only the digits it has.
            return decimals.common((len(literal.name.lstrip("0")) or 1, 0), digits)
    return _known(c.wider(_type(left), _type(right), texts=False))


def _is_beyond(node: exp.Expr) -> bool:
    """Whether a decimal literal is too great or too small for BIGINT."""
    literal = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(literal, exp.Literal) or not c.is_decimal(_type(node)):
        return False
    return abs(Decimal(literal.name)) >= 2**63

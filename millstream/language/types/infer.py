"""The type of a scalar expression, as Spark will find it, or UNKNOWN: a wrong type is worse than none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from millstream.catalog.schema import UNKNOWN, SqlType
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.spark_dialect import SUFFIX
from millstream.language.types import coercion as c
from millstream.language.types import decimals, function_types, nested_types
from millstream.language.types.function_types import TypedCall

_RULES = {**function_types.RULES, **nested_types.RULES}
_TRANSPARENT = (exp.Paren, exp.Alias, exp.Window, exp.Filter, exp.IgnoreNulls, exp.RespectNulls)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_OPERATORS = {
    "try_add": exp.Add,
    "try_subtract": exp.Sub,
    "try_multiply": exp.Mul,
    "try_divide": exp.Div,
    "mod": exp.Mod,
    "try_mod": exp.Mod,
    "pmod": exp.Mod,
}
_DECIMALS: dict[type[exp.Expr], Callable[..., SqlType]] = {
    exp.Mul: decimals.multiplied,
    exp.Div: decimals.divided,
    exp.Mod: decimals.remainder,
}
_INTERVAL_UNITS = {
    **{unit: (unit, unit) for unit in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")},
    "WEEK": ("DAY", "DAY"),
    "MILLISECOND": ("SECOND", "SECOND"),
    "MICROSECOND": ("SECOND", "SECOND"),
}
_TRUTHS = (exp.Predicate, exp.Not, exp.Connector, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Escape)
_SMALL = (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT)


def infer(expression: exp.Expr, columns: Mapping[str, SqlType]) -> SqlType:
    """The type of an expression over columns, which are found by their bare names in any case.

    The literal NULL has the type that Spark calls VOID. Every node of the tree gets its type, too.

    >>> from sqlglot import parse_one
    >>> from millstream.catalog.schema import sql_type, type_name
    >>> from millstream.language.parse.spark_dialect import SparkFaithful
    >>> columns = {"price": sql_type("decimal(10, 2)"), "ts": sql_type("timestamp")}
    >>> for text in ("price * 1.5", "year(ts)", "ts - INTERVAL 1 DAY", "from_json(x, y)"):
    ...     print(type_name(infer(parse_one(text, dialect=SparkFaithful), columns)))
    DECIMAL(13, 3)
    INT
    TIMESTAMP
    UNKNOWN
    """
    return _Typer({name.lower(): c.spelt(type_) for name, type_ in columns.items()}).type(expression)


class _Typer:
    """Walks an expression from the leaves up."""

    def __init__(self, names: Mapping[str, SqlType]) -> None:
        self._names = names

    def type(self, node: exp.Expr) -> SqlType:
        found = self._found(node)
        node.type = found
        return found

    def _types(self, nodes: Sequence[exp.Expr]) -> list[SqlType]:
        return [self.type(n) for n in nodes]

    def _found(self, node: exp.Expr) -> SqlType:
        if isinstance(node, exp.Column | exp.Identifier):
            return self._name(node)
        if isinstance(node, exp.Literal):
            return _literal(node)
        if isinstance(node, exp.Cast):
            self.type(node.this)
            return c.spelt(node.to)
        if isinstance(node, _TRANSPARENT):
            return self._wrapped(node)
        if isinstance(node, _ARITHMETIC):
            return arithmetic(type(node), node.left, node.right, *self._types([node.left, node.right]))
        if isinstance(node, exp.Lambda | exp.Query | exp.DataType | exp.Var):
            return UNKNOWN
        return self._operator(node) or self._special(node) or self._call(node)

    def _name(self, node: exp.Column | exp.Identifier) -> SqlType:
        if isinstance(node, exp.Identifier) or not node.table:
            return self._names.get(node.name.lower(), UNKNOWN)
        # s.a may be the field of a struct; three parts and more are told from a table by the binder only.
        return UNKNOWN if node.args.get("db") else c.field(self._names.get(node.table.lower(), UNKNOWN), node.name)

    def _wrapped(self, node: exp.Expr) -> SqlType:
        for key, value in node.args.items():
            for child in value if isinstance(value, list) else [value]:
                if key != "this" and isinstance(child, exp.Where | exp.Expression):
                    self._children(child)
        return self.type(node.this)

    def _children(self, node: exp.Expr) -> None:
        for child in node.iter_expressions():
            self.type(child)

    def _operator(self, node: exp.Expr) -> SqlType | None:
        if isinstance(node, _TRUTHS):
            self._children(node)
            return c.BOOLEAN
        if isinstance(node, exp.Neg):
            return self._negated(node)
        if isinstance(node, exp.IntDiv):
            known = all(c.is_numeric(t) for t in self._types([node.left, node.right]))
            return c.BIGINT if known else UNKNOWN
        if isinstance(node, exp.BitwiseAnd | exp.BitwiseOr | exp.BitwiseXor):
            both = self._types([node.left, node.right])
            return c.wider_number(*both) if all(map(c.is_integral, both)) else UNKNOWN
        if isinstance(node, exp.BitwiseNot):
            inner = self.type(node.this)
            return inner if c.is_integral(inner) else UNKNOWN
        if isinstance(node, exp.BitwiseLeftShift | exp.BitwiseRightShift):
            return self._rule("shiftleft", [node.left, node.right])
        if isinstance(node, exp.DPipe):
            return self._rule("concat", [node.left, node.right])
        return None

    def _negated(self, node: exp.Neg) -> SqlType:
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            self.type(node.this)
            return _literal(node.this, sign="-")
        inner = self.type(node.this)
        if c.is_interval(inner):
            return inner
        return self._rule("negative", [node.this])

    def _special(self, node: exp.Expr) -> SqlType | None:
        match node:
            case exp.Null():
                return c.NULL
            case exp.Boolean():
                return c.BOOLEAN
            case exp.HexString():
                return c.BINARY
            case exp.RawString() | exp.National():
                return c.STRING
            case exp.Interval():
                return _interval(node)
            case exp.Bracket():
                return self._item(node)
            case exp.Dot():
                return self._dotted(node)
            case exp.Case():
                return self._case(node)
            case exp.Extract():
                return function_types.date_part(node.name, self.type(node.expression))
            case exp.Distinct():
                return self._types(node.expressions)[0] if len(node.expressions) == 1 else UNKNOWN
            case exp.Trim() | exp.StrPosition():
                self._children(node)
                return c.STRING if isinstance(node, exp.Trim) else c.INT
            case exp.Substring() | exp.Overlay():
                self._children(node)
                return self._rule("substring", [node.this])
        return None

    def _item(self, node: exp.Bracket) -> SqlType:
        outer = self.type(node.this)
        self._types(node.expressions)
        key = node.expressions[0] if len(node.expressions) == 1 else None
        if outer.this is exp.DType.STRUCT and isinstance(key, exp.Literal) and key.is_string:
            return c.field(outer, key.name)
        return c.inner(outer, exp.DType.MAP, 1) if outer.this is exp.DType.MAP else c.inner(outer, exp.DType.ARRAY)

    def _dotted(self, node: exp.Dot) -> SqlType:
        outer = self.type(node.this)
        if not isinstance(node.expression, exp.Identifier):
            return UNKNOWN
        if outer.this is exp.DType.ARRAY:
            return c.array_of(c.field(c.inner(outer, exp.DType.ARRAY), node.expression.name))
        return c.field(outer, node.expression.name)

    def _case(self, node: exp.Case) -> SqlType:
        if node.this:
            self.type(node.this)
        self._types([branch.this for branch in node.args["ifs"]])
        values = self._types([branch.args["true"] for branch in node.args["ifs"]])
        default = node.args.get("default")
        return c.widest([*values, *([self.type(default)] if default else [])]) or UNKNOWN

    def _call(self, node: exp.Expr) -> SqlType:
        if isinstance(node, exp.If):
            arms = [node.this, node.args["true"], node.args.get("false") or exp.Null()]
            return self._rule("if", arms)
        name = name_of_call(node)
        if name is None or any(isinstance(a, exp.Kwarg) for a in node.iter_expressions()):
            self._children(node)
            return UNKNOWN if name is None else function_types.FIXED.get(name, UNKNOWN)
        return self._rule(name, list(node.iter_expressions()))

    def _rule(self, name: str, nodes: list[exp.Expr]) -> SqlType:
        types = self._types(nodes)
        if name in _OPERATORS and len(nodes) == 2:
            return arithmetic(_OPERATORS[name], nodes[0], nodes[1], *types)
        rule = _RULES.get(name)
        if rule is None:
            return function_types.FIXED.get(name, UNKNOWN)
        try:
            return rule(TypedCall(nodes, types, self._body))
        except IndexError:  # too few arguments: Spark will say so
            return UNKNOWN

    def _body(self, node: exp.Expr, parameters: Sequence[SqlType]) -> SqlType:
        """The type of a lambda's body, given the types of its parameters."""
        if not isinstance(node, exp.Lambda):
            return UNKNOWN
        bound = {p.name.lower(): t for p, t in zip(node.expressions, parameters, strict=False)}
        return _Typer({**self._names, **bound}).type(node.this)


def _literal(node: exp.Literal, sign: str = "") -> SqlType:
    if node.is_string:
        return c.STRING
    text = sign + str(node.name)
    if "e" in text.lower():
        return c.DOUBLE
    if "." in text:
        return decimals.of_literal(text)
    value = int(text)
    for bits, type_ in ((31, c.INT), (63, c.BIGINT)):
        if -(2**bits) <= value < 2**bits:
            return type_
    return decimals.of_literal(text)


def _interval(node: exp.Interval) -> SqlType:
    unit = node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return c.interval_of(unit.this.name.upper(), unit.expression.name.upper())
    name = unit.name.upper() if unit else ""
    found = _INTERVAL_UNITS.get(name) or _INTERVAL_UNITS.get(name.removesuffix("S"))
    return c.interval_of(*found) if found else UNKNOWN


def _digits(node: exp.Expr, type_: SqlType) -> tuple[int, int] | None:
    """A whole number that is written out needs only the digits it has, but for a TINYINT."""
    literal = node.this if isinstance(node, exp.Neg) else node
    if isinstance(literal, exp.Cast) and SUFFIX in literal.meta and not type_.is_type("tinyint"):
        literal = literal.this
    if c.is_integral(type_) and isinstance(literal, exp.Literal):
        return len(literal.name.lstrip("0")) or 1, 0
    return decimals.digits(type_)


def arithmetic(
    operator: type[exp.Expr], left: exp.Expr, right: exp.Expr, left_type: SqlType, right_type: SqlType
) -> SqlType:
    """What `+ - * / %` make of two operands."""
    if c.is_unknown(left_type) or c.is_unknown(right_type):
        return UNKNOWN
    both = (left_type, right_type)
    if any(map(c.is_null, both)):
        other = right_type if c.is_null(left_type) else left_type
        same = c.is_numeric(other) and not c.is_decimal(other)
        return UNKNOWN if not same else c.DOUBLE if operator is exp.Div else other
    if not all(c.is_numeric(t) or c.is_string(t) for t in both):
        return _time_arithmetic(operator, left_type, right_type)
    if any(map(c.is_string, both)):
        return c.DOUBLE
    if any(map(c.is_decimal, both)):
        a, b = _digits(left, left_type), _digits(right, right_type)
        if a is None or b is None:
            return c.DOUBLE
        return _DECIMALS.get(operator, decimals.added)(a, b)
    return c.DOUBLE if operator is exp.Div else c.wider_number(left_type, right_type)


def _time_arithmetic(operator: type[exp.Expr], left: SqlType, right: SqlType) -> SqlType:
    if operator is exp.Sub:
        if c.is_date(left) and c.is_date(right):
            return c.DAYS
        if (c.is_timestamp(left) or c.is_date(left)) and (c.is_timestamp(right) or c.is_date(right)):
            return c.DAYS_TO_SECONDS
    if operator is exp.Add and not (c.is_date(left) or c.is_timestamp(left)):
        left, right = right, left
    if operator in (exp.Add, exp.Sub):
        return _shifted(left, right)
    if operator is exp.Mul and c.is_interval(right):
        left, right = right, left
    if operator in (exp.Mul, exp.Div) and c.units(left) and c.is_numeric(right):
        return c.YEARS_TO_MONTHS if c.is_months(left) else c.DAYS_TO_SECONDS
    return UNKNOWN


def _shifted(left: SqlType, right: SqlType) -> SqlType:
    """A date, a timestamp or an interval, moved on or back."""
    if c.is_interval(left) and c.is_interval(right):
        return c.wider_interval(left, right)
    if c.is_date(left) and right.this in _SMALL:
        return left
    if c.units(right) is None:
        return UNKNOWN
    if c.is_timestamp(left):
        return left
    if c.is_date(left):
        return left if c.is_months(right) or c.units(right) == ("DAY", "DAY") else c.TIMESTAMP
    return UNKNOWN

"""Typed expressions to the values of bodies, with every cast written out.

The tree comes with its types. What is no plain expression, as a column or a subquery, has become a column already,
whose value is in `slots`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NoReturn

from sqlglot import exp

from millstream.catalog.schema import SqlType, sql_type, type_name
from millstream.errors import NotYet, TypeMismatch, suggest
from millstream.expressions.functions.registry import BY_SQL_NAME
from millstream.expressions.tree import (
    BOOL,
    DATE,
    FLOAT64,
    INT32,
    INT64,
    INTERVAL,
    MONTHS,
    NULL,
    STRING,
    TIMESTAMP,
    Call,
    Case,
    Literal,
    Type,
    Value,
)
from millstream.intervals import interval
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.spans import span_of
from millstream.language.parse.written import written
from millstream.language.types import coercion as c
from millstream.udas.bind import functions as body_functions
from millstream.udas.bind.casts import BITS, call, cast, number, widens
from millstream.udas.bind.types import run_type

Slots = Mapping[str, Value]
_DAY = Literal(86_400_000_000, INT64)
_SIGNS: dict[type[exp.Expr], str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
}
_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "sub",
    exp.Mul: "mul",
    exp.Div: "div",
    exp.Mod: "mod",
}
_TRIES = {"try_add": exp.Add, "try_subtract": exp.Sub, "try_multiply": exp.Mul, "try_divide": exp.Div, "mod": exp.Mod}
_BITS: dict[type[exp.Expr], str] = {
    exp.BitwiseAnd: "bit_and",
    exp.BitwiseOr: "bit_or",
    exp.BitwiseXor: "bit_xor",
}
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}


class Lowering:
    """Turns one expression into a value."""

    def __init__(self, slots: Slots, text: str, clause: str) -> None:
        self._slots = slots
        self._text = text
        self._clause = clause

    def value(self, node: exp.Expr) -> Value:
        """The value of an expression."""
        match node:
            case exp.Paren() | exp.Alias():
                return self.value(node.this)
            case exp.Column():
                return self._slots[node.name.lower()]
            case exp.Literal():
                return self._literal(node)
            case exp.Null():
                return Literal(None, NULL)
            case exp.Boolean():
                return Literal(bool(node.this), BOOL)
            case exp.Interval():
                return self._interval(node)
            case exp.Cast():
                return self._cast(node)
            case exp.Neg():
                return self._negative(node, self.value(node.this))
            case exp.IntDiv():
                return self._whole_division(node)
            case exp.And() | exp.Or():
                return self._connected(node)
            case exp.Not():
                return call("not", [self._truth(node.this)], BOOL)
            case exp.Is():
                return self._is(node)
            case exp.In():
                return self._in(node)
            case exp.Between():
                low = self._compared("ge", node, node.this, node.args["low"])
                return call("and", [low, self._compared("le", node, node.this, node.args["high"])], BOOL)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                same = call("same", self._alike(node, [node.this, node.expression]), BOOL)
                return same if isinstance(node, exp.NullSafeEQ) else call("not", [same], BOOL)
            case exp.Like() | exp.ILike():
                name = "like" if isinstance(node, exp.Like) else "ilike"
                return call(name, [self._as(n, STRING) for n in (node.this, node.expression)], BOOL)
            case exp.Case():
                return self._case(node)
            case exp.DPipe():
                return call("concat", [self._as(n, STRING) for n in (node.left, node.right)], STRING)
            case exp.BitwiseNot():
                return call("bit_not", [self._as(node.this, self._type(node))], self._type(node))
        if type(node) in _SIGNS:
            return self._compared(_SIGNS[type(node)], node, node.this, node.expression)
        if type(node) in _ARITHMETIC:
            return self._arithmetic(type(node), node, node.this, node.expression)
        if type(node) in _BITS:
            type_ = self._type(node)
            return call(_BITS[type(node)], [self._as(n, type_) for n in (node.this, node.expression)], type_)
        return self._function(node)

    def fitted(self, value: Value, to: Type, node: exp.Expr) -> Value:
        """The value as one of a type, by a cast that needs no word from the user."""
        found = cast(value, to, asked=False)
        if found is None:
            self._mismatch(node, f"{written(node)} cannot become {to}", "use a value of that type")
        return found

    # -- small helpers -------------------------------------------------------------------------------------

    def _as(self, node: exp.Expr, to: Type) -> Value:
        return self.fitted(self.value(node), to, node)

    def _argument(self, node: exp.Expr, to: Type) -> Value:
        """The value as an argument of a function. Spark would cut a greater number off in silence."""
        value = self.value(node)
        if to.is_float and value.type == BOOL:
            self._mismatch(node, f"{written(node)} is BOOLEAN, and this function takes numbers", "CAST it")
        if to.is_whole and not widens(value, to):
            hint = f"write CAST({written(node)} AS INT)" if to == INT32 else f"CAST it to {to}"
            self._mismatch(node, f"{written(node)} is {_spelt(node, value)}, and this function takes {to} here", hint)
        return self.fitted(value, to, node)

    def _check_time(self, name: str, node: exp.Expr) -> None:
        type_ = _plain_type(node)
        if not (c.is_timestamp(type_) or c.is_null(type_)):
            message = f"{name.upper()} needs a TIMESTAMP, and {written(node)} is {type_name(type_)}"
            self._mismatch(node, message, f"write CAST({written(node)} AS TIMESTAMP)")

    def _truth(self, node: exp.Expr) -> Value:
        return self._as(node, BOOL)

    def _type(self, node: exp.Expr) -> Type:
        found = run_type(node.type) if isinstance(node.type, exp.DataType) else None
        if found is None:
            if not isinstance(node.type, exp.DataType) or c.is_unknown(node.type):
                hint = "CAST its arguments, so that they have one type"
                self._not_yet(node, f"the type of {written(node)} cannot be told", hint)
            name = type_name(node.type)
            self._not_yet(node, f"{written(node)} is {name}, which bodies of aggregates cannot compute with yet")
        return found

    def _not_yet(self, node: exp.Expr, message: str, hint: str = "") -> NoReturn:
        where = span_of(node) or self._somewhere(node)
        hint = hint or "docs/language.md lists what works"
        raise NotYet(message, self._text, where, clause=self._clause, hint=hint)

    def _mismatch(self, node: exp.Expr, message: str, hint: str) -> NoReturn:
        where = span_of(node) or self._somewhere(node)
        raise TypeMismatch(message, self._text, where, clause=self._clause, hint=hint)

    @staticmethod
    def _somewhere(node: exp.Expr) -> tuple[int, int] | None:
        """The span of the nearest part around a node that knows its place."""
        around = node.parent
        while around is not None and span_of(around) is None:
            around = around.parent
        return span_of(around)

    # -- literals and casts --------------------------------------------------------------------------------

    def _literal(self, node: exp.Literal) -> Literal:
        if node.is_string:
            return Literal(str(node.this), STRING)
        type_ = self._type(node)
        if type_.name == "decimal":
            return Literal(Decimal(node.this), type_)
        return Literal(float(node.this) if type_.is_float else int(node.this), type_)

    def _interval(self, node: exp.Interval) -> Value:
        unit = node.args.get("unit")
        amount = str(node.this.name) if isinstance(node.this, exp.Literal) else ""
        words = f"{amount} {unit.name}" if isinstance(unit, exp.Var) else amount
        sign = -1 if words.strip().startswith("-") else 1
        words = words.strip().lstrip("+-")
        count, _, name = words.partition(" ")
        months = {"YEAR": 12, "MONTH": 1}.get(name.strip().upper().removesuffix("S"))
        if months and count.isdigit():
            return Literal(sign * months * int(count), MONTHS)
        try:
            length = interval(words)
        except (ValueError, OverflowError):
            self._not_yet(node, "this INTERVAL cannot be used in a body", "write it as INTERVAL 5 SECONDS")
        return Literal(sign * (length.days * 86_400_000_000 + length.seconds * 10**6 + length.microseconds), INTERVAL)

    def _cast(self, node: exp.Cast, written_as: exp.Expr | None = None) -> Value:
        inner, to = self.value(node.this), run_type(node.to)
        if inner.type == STRING and node.to.is_type("timestamp_ntz"):
            return call("timestamp_ntz_of", [inner], TIMESTAMP)
        # Without a zone it is no point in time.
        floating = to is not None and to.is_whole and _plain_type(node.this).this is exp.DType.TIMESTAMPNTZ
        found = cast(inner, to) if to is not None and not floating else None
        if found is None or to is None:
            self._not_yet(written_as or node, f"a cast to {type_name(node.to)} is not possible in a body")
        return found

    # -- arithmetic ----------------------------------------------------------------------------------------

    def _negative(self, node: exp.Expr, value: Value) -> Value:
        if isinstance(value, Literal) and isinstance(value.value, int | float | Decimal):
            return Literal(-value.value, self._type(node) if node.type else value.type)
        if value.type.name in {"interval", "months"}:
            return call("neg_int64", [value], value.type)
        type_ = self._type(node)
        return call(f"neg_{type_.name}", [self.fitted(value, type_, node)], type_)

    def _whole_division(self, node: exp.IntDiv) -> Value:
        sides = [self.value(n) for n in (node.left, node.right)]
        if any(s.type.name == "decimal" for s in sides):
            return call(
                "div_whole",
                [self._as_decimal(s, n) for s, n in zip(sides, (node.left, node.right), strict=True)],
                INT64,
            )
        return call("div_int64", [self.fitted(s, INT64, node) for s in sides], INT64)

    def _arithmetic(self, kind: type[exp.Expr], node: exp.Expr, left: exp.Expr, right: exp.Expr) -> Value:
        sides = [self.value(left), self.value(right)]
        names = {s.type.name for s in sides}
        if names & {"date", "timestamp", "interval", "months"}:
            return self._time_arithmetic(kind, node, *sides)
        type_ = self._type(node)
        name = _ARITHMETIC[kind]
        if type_.name == "null":
            return Literal(None, NULL)
        if type_.name == "decimal":
            return self._decimal_arithmetic(name, sides, type_, node)
        fitted = [self.fitted(s, type_, node) for s in sides]
        if name == "mod" and type_.is_whole:
            return call("mod_int", fitted, type_)
        return call(f"{name}_{type_.name}", fitted, type_)

    def _decimal_arithmetic(self, name: str, sides: Sequence[Value], type_: Type, node: exp.Expr) -> Value:
        operands = [self._as_decimal(s, node) for s in sides]
        return call(f"{name}_decimal", [*operands, number(type_.precision), number(type_.scale)], type_)

    def _as_decimal(self, value: Value, node: exp.Expr) -> Value:
        return value if value.type.name in {"decimal", "null"} else self.fitted(value, Type("decimal", 38, 0), node)

    def _time_arithmetic(self, kind: type[exp.Expr], node: exp.Expr, left: Value, right: Value) -> Value:
        minus = kind is exp.Sub
        if kind is exp.Add and right.type.name in {"date", "timestamp"}:
            left, right = right, left
        names = left.type.name, right.type.name
        if kind in (exp.Mul, exp.Div):
            if right.type.name in {"interval", "months"}:
                left, right = right, left
            factor = self.fitted(right, FLOAT64, node)
            if kind is exp.Div:
                factor = call("div_float64", [Literal(1.0, FLOAT64), factor], FLOAT64)
            return call("scale_interval", [left, factor], left.type)
        match names:
            case ("date", "date"):
                days = call("sub_int64", [left, right], INT64)
                return call("mul_int64", [days, _DAY], INTERVAL)
            case ("timestamp" | "date", "timestamp" | "date"):
                both = [self.fitted(v, TIMESTAMP, node) for v in (left, right)]
                return call("sub_int64", both, INTERVAL)
            case ("timestamp", "interval") | ("interval", "interval") | ("months", "months"):
                return call("sub_int64" if minus else "add_int64", [left, right], left.type)
            case ("date", "interval"):
                if self._type(node).name == "date":
                    days = call("div_int64", [right, _DAY], INT32)
                    return call("subtract_days" if minus else "add_days", [left, days], DATE)
                start = self.fitted(left, TIMESTAMP, node)
                return call("sub_int64" if minus else "add_int64", [start, right], TIMESTAMP)
            case ("timestamp" | "date", "months"):
                months = call("neg_int64", [right], MONTHS) if minus else right
                name = "add_months" if left.type.name == "date" else "shift_months"
                return call(name, [left, months], left.type)
            case ("date", _) if right.type.is_whole:
                return call("subtract_days" if minus else "add_days", [left, right], DATE)
        self._not_yet(node, f"{written(node)} cannot be computed in a body")

    # -- conditions ----------------------------------------------------------------------------------------

    def _connected(self, node: exp.Expr) -> Value:
        # A long chain of ANDs is a deep tree to the left: it is walked, not recursed into.
        kind, parts, current = type(node), [], node
        while isinstance(current, kind):
            parts.append(current.expression)
            current = current.this
        name = "and" if kind is exp.And else "or"
        result = self._truth(current)
        for part in reversed(parts):
            result = call(name, [result, self._truth(part)], BOOL)
        return result

    def _is(self, node: exp.Is) -> Value:
        if isinstance(node.expression, exp.Null):
            return call("is_null", [self.value(node.this)], BOOL)
        if isinstance(node.expression, exp.Boolean):
            truth = exp.Boolean(this=node.expression.this)
            truth.type = c.BOOLEAN
            return call("same", self._alike(node, [node.this, truth]), BOOL)
        self._not_yet(node, f"{written(node)} cannot be computed in a body")

    def _in(self, node: exp.In) -> Value:
        members = list(node.expressions)
        types = [_plain_type(n) for n in (node.this, *members)]
        common = c.widest(types, texts=False)
        to = run_type(common) if common is not None else None
        if to is None and members:
            return self._in_texts(node, members)
        return call("one_of", [self.fitted(self.value(n), to or NULL, n) for n in (node.this, *members)], BOOL)

    def _in_texts(self, node: exp.In, members: Sequence[exp.Expr]) -> Value:
        """IN where texts meet something else, which each of them is compared as."""
        types = {type_name(t) for t in map(_plain_type, (node.this, *members)) if not (c.is_null(t) or c.is_string(t))}
        if len(types) > 1:
            self._not_yet(node, f"{written(node)} cannot be compared in a body", "CAST all to one type")
        result = self._compared("eq", node, node.this, members[0])
        for member in members[1:]:
            result = call("or", [result, self._compared("eq", node, node.this, member)], BOOL)
        return result

    def _compared(self, name: str, node: exp.Expr, left: exp.Expr, right: exp.Expr) -> Value:
        return call(name, self._alike(node, [left, right]), BOOL)

    def _alike(self, node: exp.Expr, sides: Sequence[exp.Expr]) -> list[Value]:
        """Two sides of a comparison, of one type."""
        values = [self.value(s) for s in sides]
        types = [_plain_type(s) for s in sides]
        common = _common(types[0], types[1])
        to = run_type(common) if common is not None else None
        if to is None:
            if values[0].type == values[1].type:
                return values
            self._not_yet(node, f"{written(node)} cannot be compared in a body")
        return [self.fitted(v, to, s) for v, s in zip(values, sides, strict=True)]

    def _case(self, node: exp.Case) -> Value:
        type_ = self._type(node)
        branches = []
        for branch in node.args["ifs"]:
            condition = self._compared("eq", node, node.this, branch.this) if node.this else self._truth(branch.this)
            branches.append((condition, self._as(branch.args["true"], type_)))
        default = node.args.get("default")
        return Case(tuple(branches), self._as(default, type_) if default else Literal(None, type_), type_)

    # -- functions -----------------------------------------------------------------------------------------

    def _function(self, node: exp.Expr) -> Value:
        name, arguments = self._called(node)
        if name in BY_SQL_NAME:
            function = BY_SQL_NAME[name]
            types = function.types(len(arguments))
            if name.startswith("unix_") and len(arguments) == 1:
                self._check_time(name, arguments[0])
            if types is None:
                self._mismatch(node, f"{name.upper()} cannot take {len(arguments)} arguments", "see SHOW FUNCTIONS")
            return call(
                function.name, [self._argument(a, t) for a, t in zip(arguments, types, strict=True)], self._type(node)
            )
        if name == "string" and len(arguments) == 1:
            return self._as(arguments[0], STRING)
        if name in body_functions.CASTS and len(arguments) == 1:
            return self._cast(exp.Cast(this=arguments[0], to=sql_type(body_functions.CASTS[name])), node)
        found = self._special(name, node, arguments) if name in body_functions.SPECIAL else None
        if found is None:
            hint = suggest(name, sorted(body_functions.NAMES))
            self._not_yet(node, f"the function {name} cannot be used in the body of an aggregate yet", hint)
        return found

    def _called(self, node: exp.Expr) -> tuple[str, list[exp.Expr]]:
        name = name_of_call(node)
        if isinstance(node, exp.Trim) and node.args.get("position"):
            name = _TRIMS.get(str(node.args["position"]).upper(), "trim")
        if isinstance(node, exp.Extract):
            return "extract", [exp.Literal.string(node.name), node.expression]
        return name or type(node).__name__.lower(), [a for a in node.iter_expressions() if not isinstance(a, exp.Star)]

    def _special(self, name: str, node: exp.Expr, arguments: list[exp.Expr]) -> Value | None:
        count = len(arguments)
        match name, count:
            case (("pi" | "e"), 0):
                return Literal(3.141592653589793 if name == "pi" else 2.718281828459045, FLOAT64)
            case (("isnull" | "isnotnull"), 1):
                return call("is_null" if name == "isnull" else "is_not_null", [self.value(arguments[0])], BOOL)
            case (("abs" | "floor" | "ceil" | "ceiling"), 1):
                return self._rounded(name.removesuffix("ing"), node, arguments[0])
            case "round", (1 | 2):
                return self._round(node, arguments)
            case "positive", 1:
                return self._as(arguments[0], self._type(node))
            case "negative", 1:
                return self._negative(node, self.value(arguments[0]))
            case "log", (1 | 2):
                return call("ln" if count == 1 else "log", [self._argument(a, FLOAT64) for a in arguments], FLOAT64)
            case (("mod" | "try_add" | "try_subtract" | "try_multiply" | "try_divide"), 2):
                return self._arithmetic(_TRIES[name], node, *arguments)
            case "pmod", 2 if self._type(node).is_whole:
                type_ = self._type(node)
                function = f"pmod_{type_}" if type_ in {INT32, INT64} else "pmod_int"
                return call(function, [self._as(a, type_) for a in arguments], type_)
            case (("coalesce" | "nvl" | "ifnull" | "greatest" | "least"), _) if count > (name in {"greatest", "least"}):
                kind = name if name in {"greatest", "least"} else "coalesce"
                return call(kind, [self._as(a, self._type(node)) for a in arguments], self._type(node))
            case "nullif", 2:
                equal = self._compared("eq", node, arguments[0], arguments[1])
                first = self.value(arguments[0])
                return Case(((equal, Literal(None, first.type)),), first, first.type)
            case "if", 3:
                return self._if(node, arguments)
            case "nvl2", 3:
                type_, known = self._type(node), call("is_not_null", [self.value(arguments[0])], BOOL)
                return Case(((known, self._as(arguments[1], type_)),), self._as(arguments[2], type_), type_)
            case (("trim" | "ltrim" | "rtrim"), (1 | 2)):
                texts = [self._as(a, STRING) for a in arguments]
                # LTRIM(characters, text), but TRIM(characters FROM text) comes with the text first.
                swapped = texts[::-1] if isinstance(node, exp.Anonymous) and count == 2 else texts
                return call(name, swapped, STRING)
            case "timestamp_micros", 1:
                return Call("unix_micros", (self._argument(arguments[0], INT64),), TIMESTAMP)
            case (("extract" | "date_part"), 2):
                return self._extract(node, arguments)
        return None

    def _if(self, node: exp.Expr, arguments: list[exp.Expr]) -> Value:
        type_ = self._type(node)
        condition = self._truth(arguments[0])
        return Case(((condition, self._as(arguments[1], type_)),), self._as(arguments[2], type_), type_)

    def _rounded(self, name: str, node: exp.Expr, argument: exp.Expr) -> Value:
        value, type_ = self.value(argument), self._type(node)
        if value.type.name == "null":
            return Literal(None, type_)
        if name == "abs":
            return call(f"abs_{type_.name}", [self.fitted(value, type_, argument)], type_)
        if value.type.is_whole:
            return self.fitted(value, type_, argument)
        if type_.name == "decimal":
            return call(f"{name}_decimal", [value], type_)
        return call(name, [self.fitted(value, FLOAT64, argument)], type_)

    def _round(self, node: exp.Expr, arguments: list[exp.Expr]) -> Value:
        value, type_ = self.value(arguments[0]), self._type(node)
        digits = self._argument(arguments[1], INT32) if len(arguments) > 1 else number(0)
        if not isinstance(digits, Literal):
            self._mismatch(node, "ROUND takes a number of digits that is written out", "write it like round(x, 2)")
        if type_.name == "decimal":
            scaled = [self.fitted(value, type_, node)] if value.type.name != "decimal" else [value]
            return call("round_decimal", [*scaled, digits, number(type_.precision), number(type_.scale)], type_)
        if type_.is_whole:
            return call("round_int", [self.fitted(value, type_, node), digits, number(BITS[type_.name])], type_)
        rounded = call("round_float", [self.fitted(value, FLOAT64, node), digits], FLOAT64)
        return self.fitted(rounded, type_, node)

    def _extract(self, node: exp.Expr, arguments: list[exp.Expr]) -> Value | None:
        part = arguments[0].name.lower()
        function = body_functions.PARTS.get(part)
        if function is None:
            return None
        wanted = TIMESTAMP if function in {"hour", "minute"} else DATE
        return call(function, [self._as(arguments[1], wanted)], INT32)


def _spelt(node: exp.Expr, value: Value) -> str:
    return type_name(node.type) if isinstance(node.type, exp.DataType) else str(value.type)


def _plain_type(node: exp.Expr) -> SqlType:
    return node.type if isinstance(node.type, exp.DataType) else c.NULL


def _common(left: SqlType, right: SqlType) -> SqlType | None:
    """The type that two values are compared in: a text gives way to everything else."""
    if c.is_string(left) != c.is_string(right):
        other = right if c.is_string(left) else left
        return c.STRING if c.is_null(other) else other
    return c.wider(left, right, texts=False)

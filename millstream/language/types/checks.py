"""Finds the clear mistakes of type in an expression; what may be right is left to Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from millstream.catalog.column_types import type_mistake
from millstream.catalog.schema import UNKNOWN, SqlType, type_name
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.written import told
from millstream.language.types import coercion as c
from millstream.language.types.formats import format_mistake, word_mistake
from millstream.language.types.infer import infer
from millstream.language.types.like_escapes import escape_mistakes
from millstream.language.types.literals import SPECIAL_TIMES, stands_for
from millstream.language.types.whole_arguments import whole_mistakes


@dataclass(frozen=True)
class Mistake:
    """A part of an expression whose types do not fit, in words, and what to write instead."""

    node: exp.Expr
    message: str
    hint: str


_SIGNS: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.Mod: "divide",
    exp.IntDiv: "divide",
}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_BITWISE = (
    exp.BitwiseAnd,
    exp.BitwiseOr,
    exp.BitwiseXor,
    exp.BitwiseNot,
    exp.BitwiseLeftShift,
    exp.BitwiseRightShift,
)
_PATTERNS = (exp.Like, exp.ILike, exp.RegexpLike)
_LIKES = frozenset(["like", "ilike"])
_WRITTEN = {
    "number": "numbers are written without quotes",
    "truth": "write TRUE or FALSE",
    "time": "times are written as '2024-12-31' or '2024-12-31 23:59:59'",
}
_NUMERIC_AGGREGATES = frozenset(
    ["avg", "mean", "stddev", "stddev_pop", "stddev_samp", "sum", "try_avg", "try_sum", "var_pop", "variance"]
)
_OF_SEVERAL = frozenset(["greatest", "least"])
_ONE_TYPE = frozenset(["array", "coalesce", "greatest", "ifnull", "least", "nvl"])
_ARITY = {
    **dict.fromkeys(
        [
            "abs",
            "array_distinct",
            "dayofmonth",
            "dayofweek",
            "hour",
            "isnan",
            "isnull",
            "length",
            "lower",
            "minute",
            "month",
            "quarter",
            "second",
            "size",
            "sqrt",
            "upper",
            "weekofyear",
            "year",
        ],
        1,
    ),
    **dict.fromkeys(
        [
            "add_months",
            "array_contains",
            "date_format",
            "date_trunc",
            "ifnull",
            "nullif",
            "nvl",
            "pow",
            "power",
        ],
        2,
    ),
    "nvl2": 3,
    "if": 3,
}
"""How many arguments the everyday functions take, where it is always the same number."""


def check(expression: exp.Expr, columns: Mapping[str, SqlType]) -> list[Mistake]:
    """The mistakes of type in an expression over columns, the innermost first; the tree gets its types.

    >>> from sqlglot import parse_one
    >>> from millstream.catalog.schema import sql_type
    >>> columns = {"name": sql_type("string"), "price": sql_type("int")}
    >>> for mistake in check(parse_one("name > price", dialect="spark"), columns):
    ...     print(mistake.message, "->", mistake.hint)
    cannot compare STRING with INT -> write CAST(name AS INT)
    """
    infer(expression, columns)
    return [mistake for node in _inside_out(expression) for mistake in _mistakes(node)]


def check_condition(expression: exp.Expr, columns: Mapping[str, SqlType], clause: str = "WHERE") -> list[Mistake]:
    """The mistakes in an expression that must be true or false, as after WHERE, HAVING and ON."""
    return [*check(expression, columns), *_must_be_true_or_false(expression, clause)]


def _inside_out(node: exp.Expr) -> Iterator[exp.Expr]:
    if not isinstance(node, exp.Query):
        for child in node.iter_expressions():
            yield from _inside_out(child)
        yield node


def _type(node: exp.Expr | None) -> SqlType:
    found = node.type if node is not None else None
    return found if isinstance(found, exp.DataType) else UNKNOWN


def _sql(node: exp.Expr) -> str:
    return told(node)


def _text(node: exp.Expr) -> str | None:
    inner = node.unnest()
    return str(inner.name) if isinstance(inner, exp.Literal) and inner.is_string else None


def _cast(node: exp.Expr, type_: SqlType | str) -> str:
    return f"write CAST({_sql(node)} AS {type_ if isinstance(type_, str) else type_name(type_)})"


def _number_of(node: exp.Expr) -> str:
    if c.is_boolean(_type(node)):
        return f"IF({_sql(node)}, 1, 0) makes a number of it"
    return "take a part of it first, by its index or its name"


def _free(type_: SqlType) -> bool:
    return c.is_unknown(type_) or c.is_null(type_)


def _mistakes(node: exp.Expr) -> Iterator[Mistake]:
    if type(node) in _SIGNS:
        yield from _arithmetic(node)
    elif isinstance(node, _COMPARISONS):
        yield from _comparison(node, node.this, node.expression)
    elif isinstance(node, exp.In):
        for value in node.expressions:
            yield from _comparison(node, node.this, value)
    elif isinstance(node, exp.Between):
        yield from _comparison(node, node.this, node.args["low"])
        yield from _comparison(node, node.this, node.args["high"])
    elif isinstance(node, exp.And | exp.Or | exp.Not):
        sides = [node.this] if isinstance(node, exp.Not) else [node.left, node.right]
        for side in sides:
            yield from _must_be_true_or_false(side, type(node).__name__.upper())
    elif isinstance(node, _PATTERNS):
        yield from _pattern(node)
    elif isinstance(node, _BITWISE):
        yield from _bitwise(node)
    elif isinstance(node, exp.Neg):
        yield from _sign(node)
    elif isinstance(node, exp.Case):
        yield from _case(node)
    elif isinstance(node, exp.Cast):
        yield from _target(node)
        yield from _written_time(node) if type(node) is exp.Cast else ()
    else:
        yield from _format(node)
        yield from _call(node)


def _format(node: exp.Expr) -> Iterator[Mistake]:
    name, arguments = name_of_call(node), node.expressions
    wrong = format_mistake(name, arguments) if name is not None else None
    if wrong is not None:
        yield Mistake(arguments[1], *wrong)
    if isinstance(node, exp.Extract):
        arguments = [node.this, node.expression]
    if name is not None and (word := word_mistake(name, arguments)) is not None:
        yield Mistake(*word)
    if name is not None:
        yield from (Mistake(*whole) for whole in whole_mistakes(name, list(node.iter_expressions())))
    if name in _LIKES and len(arguments) in {2, 3}:
        escape = arguments[2] if len(arguments) == 3 else None
        yield from (Mistake(*wrong) for wrong in escape_mistakes(name, escape, [arguments[1]]))


def _must_be_true_or_false(node: exp.Expr, where: str) -> Iterator[Mistake]:
    type_ = _type(node)
    if not _free(type_) and not c.is_boolean(type_):
        hint = f"compare it, as in {_sql(node)} <> 0" if c.is_numeric(type_) else "compare it with something"
        yield Mistake(node, f"{where} needs a condition, and {_sql(node)} is {type_name(type_)}", hint)


def _arithmetic(node: exp.Expr) -> Iterator[Mistake]:
    sides = (node.this, node.expression)
    left, right = map(_type, sides)
    if isinstance(node, exp.IntDiv):
        for side, type_ in zip(sides, (left, right), strict=True):
            if type_.this in (exp.DType.FLOAT, exp.DType.DOUBLE) or c.is_string(type_):
                hint = "DIV divides whole numbers; / divides any"
                yield Mistake(node, f"{_sql(side)} is {type_name(type_)}, which DIV does not divide", hint)
                return
    if c.is_unknown(left) or c.is_unknown(right):
        return
    for side, type_, other in ((sides[0], left, right), (sides[1], right, left)):
        if c.is_boolean(type_) or c.is_nested(type_):
            yield Mistake(node, f"{_sql(side)} is {type_name(type_)}, which is no number", _number_of(side))
            return
        text = _text(side)
        if c.is_string(type_) and (c.is_numeric(other) or c.is_string(other)):
            if text is None:
                yield Mistake(node, f"{_sql(side)} is STRING, which is no number", _cast(side, "DOUBLE"))
                return
            if not stands_for(text, c.DOUBLE):
                hint = "|| joins texts" if isinstance(node, exp.Add) else "numbers are written without quotes"
                yield Mistake(node, f"'{text}' is no number", hint)
                return
    yield from _time_arithmetic(node, left, right)


def _time_arithmetic(node: exp.Expr, left: SqlType, right: SqlType) -> Iterator[Mistake]:
    times = [c.is_date(t) or c.is_timestamp(t) for t in (left, right)]
    both = f"{type_name(left)} and {type_name(right)}"
    verb = _SIGNS[type(node)]
    number = right if times[0] else left
    if not any(times):
        if isinstance(node, exp.Add | exp.Sub) and sorted(map(c.is_interval, (left, right))) == [False, True]:
            other = right if c.is_interval(left) else left
            if c.is_numeric(other):
                yield Mistake(node, f"cannot {verb} {both}", "give the number a unit, as in INTERVAL 1 DAY")
    elif not isinstance(node, exp.Add | exp.Sub):
        yield Mistake(node, f"cannot {verb} {both}", "a difference of times is an INTERVAL, and can be")
    elif all(times):
        if isinstance(node, exp.Add):
            yield Mistake(node, f"cannot add {both}", "their difference is an INTERVAL; add an INTERVAL to one of them")
    elif times[1] and isinstance(node, exp.Sub) and not c.is_string(left) and not c.is_null(left):
        yield Mistake(node, f"cannot subtract {type_name(right)} from {type_name(left)}", "the time comes first")
    elif c.is_numeric(number):
        whole_days = c.is_date(left if times[0] else right) and c.is_integral(number)
        if not whole_days:
            yield Mistake(node, f"cannot {verb} {both}", "give the number a unit, as in INTERVAL 1 DAY")
        elif number.this is exp.DType.BIGINT:
            side = node.expression if times[0] else node.this
            yield Mistake(node, f"cannot {verb} {both}: days are counted in INT", _cast(side, c.INT))


def _comparison(node: exp.Expr, left: exp.Expr, right: exp.Expr) -> Iterator[Mistake]:
    types = (_type(left), _type(right))
    if any(map(_free, types)) or type_name(types[0]) == type_name(types[1]):
        return
    for side, other in ((left, types[1]), (right, types[0])):
        text = _text(side)
        if text is not None and not c.is_nested(other):
            if not stands_for(text, other):
                message = f"'{text}' is no {type_name(other)}, and is compared with one"
                yield Mistake(node, message, _WRITTEN.get(_kind(other), ""))
            return
    if not _comparable(*types):
        yield Mistake(node, f"cannot compare {type_name(types[0])} with {type_name(types[1])}", _bridge(left, right))


def _comparable(left: SqlType, right: SqlType) -> bool:
    kinds = {_kind(left), _kind(right)}
    return len(kinds) == 1 or "other" in kinds or kinds in ({"text", "time"}, {"text", "interval"})


def _kind(type_: SqlType) -> str:
    tests = {
        "number": c.is_numeric,
        "text": c.is_string,
        "truth": c.is_boolean,
        "time": lambda t: c.is_date(t) or c.is_timestamp(t),
        "interval": c.is_interval,
        "nested": c.is_nested,
    }
    return next((kind for kind, test in tests.items() if test(type_)), "other")


def _bridge(left: exp.Expr, right: exp.Expr) -> str:
    """The cast that makes a comparison possible, where there is one to propose."""
    for side, other in ((left, right), (right, left)):
        if c.is_string(_type(side)) and not c.is_nested(_type(other)):
            return _cast(side, _type(other))
        if c.is_boolean(_type(side)) and c.is_numeric(_type(other)):
            return f"compare {_sql(side)} with TRUE or FALSE"
    return "compare values of one kind"


def _pattern(node: exp.Expr) -> Iterator[Mistake]:
    word = "RLIKE" if isinstance(node, exp.RegexpLike) else type(node).__name__.upper()
    patterns = [node.expression]
    if isinstance(node.expression, exp.Any | exp.All):  # LIKE ANY ('a%', 'b%')
        inner = node.expression.this
        patterns = inner.expressions if isinstance(inner, exp.Tuple) else [inner.unnest()]
        if not patterns:
            yield Mistake(node, f"{word} has no pattern", f"as in {word} ANY ('a%', 'b%')")
        if isinstance(node.parent, exp.Escape):
            yield Mistake(node.parent, f"{word} of several patterns takes no ESCAPE", "the backslash escapes in them")
    for side in (node.this, *patterns):
        type_ = _type(side)
        if not _free(type_) and not c.is_string(type_) and _kind(type_) != "other":
            yield Mistake(node, f"{word} needs a STRING, and {_sql(side)} is {type_name(type_)}", _cast(side, "STRING"))
            return
    if not isinstance(node, exp.RegexpLike):
        escape = node.parent.expression if isinstance(node.parent, exp.Escape) else None
        yield from (Mistake(*wrong) for wrong in escape_mistakes(word, escape, patterns))


def _bitwise(node: exp.Expr) -> Iterator[Mistake]:
    for side in (node.this, *([node.expression] if isinstance(node, exp.Binary) else [])):
        type_ = _type(side)
        shifts = isinstance(node, exp.BitwiseLeftShift | exp.BitwiseRightShift)  # they make a number of a text
        if not _free(type_) and not c.is_integral(type_) and not (shifts and c.is_string(type_)):
            yield Mistake(
                node, f"{_sql(side)} is {type_name(type_)}, and bits are taken of whole numbers", _cast(side, c.BIGINT)
            )
            return


def _sign(node: exp.Neg) -> Iterator[Mistake]:
    type_ = _type(node.this)
    if not _free(type_) and not c.is_numeric(type_) and not c.is_interval(type_) and _kind(type_) != "other":
        hint = _cast(node.this, "DOUBLE") if c.is_string(type_) else "only numbers and intervals have one"
        yield Mistake(node, f"{_sql(node.this)} is {type_name(type_)} and has no negative", hint)


def _case(node: exp.Case) -> Iterator[Mistake]:
    for branch in node.args["ifs"]:
        if node.this:
            yield from _comparison(branch, node.this, branch.this)
        else:
            yield from _must_be_true_or_false(branch.this, "WHEN")
    values = [branch.args["true"] for branch in node.args["ifs"]]
    yield from _one_type([*values, *([node.args["default"]] if node.args.get("default") else [])], "CASE")


def _one_type(values: list[exp.Expr], where: str, *, texts: bool = True) -> Iterator[Mistake]:
    types = [_type(v) for v in values]
    if any(map(c.is_unknown, types)) or c.widest(types, texts=texts) is not None:
        return
    for index, value in enumerate(values):
        before = c.widest(types[:index], texts=texts)
        if before is not None and c.widest(types[: index + 1], texts=texts) is None:
            message = f"{where} gives {type_name(before)} and then {type_name(types[index])}"
            yield Mistake(value, message, "give all of them one type, as with CAST")
            return


def _target(node: exp.Cast) -> Iterator[Mistake]:
    """What a cast makes: a type that there is."""
    for type_ in node.to.find_all(exp.DataType):
        if (wrong := type_mistake(type_)) is not None:
            yield Mistake(node, *wrong)
            return


def _written_time(node: exp.Cast) -> Iterator[Mistake]:
    """DATE '...' and TIMESTAMP '...', which Spark refuses too when the text is wrong."""
    text = _text(node.this)
    if (
        type(node) is not exp.Cast
        or text is None
        or text.strip().lower() in SPECIAL_TIMES
        or stands_for(text, c.spelt(node.to))
    ):
        return
    yield Mistake(node, f"'{text}' is no {type_name(node.to)}", _WRITTEN["time"])


def _call(node: exp.Expr) -> Iterator[Mistake]:
    name = name_of_call(node)
    if name is None:
        return
    given = list(node.iter_expressions())
    wanted = _ARITY.get(name, len(given))
    if len(given) != wanted:
        arguments = "1 argument" if wanted == 1 else f"{wanted} arguments"
        example = f"{name.upper()}({', '.join('abc'[:wanted])})"
        yield Mistake(node, f"{name.upper()} takes {arguments}, not {len(given)}", f"write {example}")
        return
    if len(given) < 2 and name in _OF_SEVERAL:
        yield Mistake(
            node, f"{name.upper()} takes 2 arguments or more, not {len(given)}", f"write {name.upper()}(a, b)"
        )
        return
    if name in _NUMERIC_AGGREGATES and given:
        type_ = _type(given[0])
        if _kind(type_) in ("text", "truth", "time", "nested"):
            hint = _cast(given[0], "DOUBLE") if c.is_string(type_) else "COUNT, MIN and MAX take any type"
            yield Mistake(node, f"{name.upper()} needs numbers, and {_sql(given[0])} is {type_name(type_)}", hint)
    elif name in _ONE_TYPE:
        yield from _one_type(given, name.upper(), texts=name not in ("greatest", "least"))
    elif name == "if" and len(given) == 3:
        yield from _must_be_true_or_false(given[0], "IF")
        yield from _one_type(given[1:], "IF")

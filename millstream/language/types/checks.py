"""Finds the clear mistakes of type in an expression; what may be right is left to Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from millstream.catalog.column_types import type_mistake
from millstream.catalog.schema import SqlType, type_name
from millstream.language.parse.call_name import name_of_call
from millstream.language.types import coercion as c
from millstream.language.types.arithmetic_checks import (
    BITWISE,
    SIGNS,
    arithmetic_mistakes,
    bitwise_mistakes,
    sign_mistakes,
)
from millstream.language.types.formats import format_mistake, word_mistake
from millstream.language.types.infer import infer
from millstream.language.types.like_escapes import escape_mistakes
from millstream.language.types.literals import SPECIAL_TIMES, stands_for
from millstream.language.types.mistake import Mistake, cast_hint, is_free, kind_of, shown, text_of, type_of
from millstream.language.types.whole_arguments import whole_mistakes

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
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
        ["add_months", "array_contains", "date_format", "date_trunc", "ifnull", "nullif", "nvl", "pow", "power"], 2
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
    return [
        *check(expression, columns),
        *_must_be_true_or_false(expression, clause),
        *_is_never_true(expression, clause),
    ]


def _inside_out(node: exp.Expr) -> Iterator[exp.Expr]:
    if not isinstance(node, exp.Query):
        for child in node.iter_expressions():
            yield from _inside_out(child)
        yield node


def _mistakes(node: exp.Expr) -> Iterator[Mistake]:
    if type(node) in SIGNS:
        yield from arithmetic_mistakes(node)
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
    elif isinstance(node, BITWISE):
        yield from bitwise_mistakes(node)
    elif isinstance(node, exp.Neg):
        yield from sign_mistakes(node)
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
    type_ = type_of(node)
    if not is_free(type_) and not c.is_boolean(type_):
        hint = f"compare it, as in {shown(node)} <> 0" if c.is_numeric(type_) else "compare it with something"
        yield Mistake(node, f"{where} needs a condition, and {shown(node)} is {type_name(type_)}", hint)


def _is_never_true(node: exp.Expr, clause: str) -> Iterator[Mistake]:
    """A condition without any type is NULL alone, for which Spark has no rule."""
    if c.is_null(type_of(node)):
        hint = "compare a column with something; IS NULL finds what is missing"
        yield Mistake(node, f"{clause} needs a condition, and {shown(node)} is never true", hint)


def _comparison(node: exp.Expr, left: exp.Expr, right: exp.Expr) -> Iterator[Mistake]:
    types = (type_of(left), type_of(right))
    if any(map(is_free, types)) or type_name(types[0]) == type_name(types[1]):
        return
    for side, other in ((left, types[1]), (right, types[0])):
        text = text_of(side)
        if text is not None and not c.is_nested(other):
            if not stands_for(text, other):
                message = f"'{text}' is no {type_name(other)}, and is compared with one"
                yield Mistake(node, message, _WRITTEN.get(kind_of(other), ""))
            return
    if not _comparable(*types):
        yield Mistake(node, f"cannot compare {type_name(types[0])} with {type_name(types[1])}", _bridge(left, right))


def _comparable(left: SqlType, right: SqlType) -> bool:
    kinds = {kind_of(left), kind_of(right)}
    if c.is_binary(left) != c.is_binary(right) and kinds & {"number", "truth", "time", "interval", "nested"}:
        return False
    return len(kinds) == 1 or "other" in kinds or kinds in ({"text", "time"}, {"text", "interval"})


def _bridge(left: exp.Expr, right: exp.Expr) -> str:
    """The cast that makes a comparison possible, where there is one to propose."""
    for side, other in ((left, right), (right, left)):
        if c.is_string(type_of(side)) and not c.is_nested(type_of(other)):
            return cast_hint(side, type_of(other))
        if c.is_boolean(type_of(side)) and c.is_numeric(type_of(other)):
            return f"compare {shown(side)} with TRUE or FALSE"
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
        type_ = type_of(side)
        if not is_free(type_) and not c.is_string(type_) and kind_of(type_) != "other":
            yield Mistake(
                node, f"{word} needs a STRING, and {shown(side)} is {type_name(type_)}", cast_hint(side, "STRING")
            )
            return
    if not isinstance(node, exp.RegexpLike):
        escape = node.parent.expression if isinstance(node.parent, exp.Escape) else None
        yield from (Mistake(*wrong) for wrong in escape_mistakes(word, escape, patterns))


def _case(node: exp.Case) -> Iterator[Mistake]:
    for branch in node.args["ifs"]:
        if node.this:
            yield from _comparison(branch, node.this, branch.this)
        else:
            yield from _must_be_true_or_false(branch.this, "WHEN")
    values = [branch.args["true"] for branch in node.args["ifs"]]
    yield from _one_type([*values, *([node.args["default"]] if node.args.get("default") else [])], "CASE")


def _one_type(values: list[exp.Expr], where: str, *, texts: bool = True) -> Iterator[Mistake]:
    types = [type_of(v) for v in values]
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
    text = text_of(node.this)
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
        type_ = type_of(given[0])
        if kind_of(type_) in ("text", "truth", "time", "nested"):
            hint = cast_hint(given[0], "DOUBLE") if c.is_string(type_) else "COUNT, MIN and MAX take any type"
            yield Mistake(node, f"{name.upper()} needs numbers, and {shown(given[0])} is {type_name(type_)}", hint)
    elif name in _ONE_TYPE:
        yield from _one_type(given, name.upper(), texts=name not in ("greatest", "least"))
    elif name == "if" and len(given) == 3:
        yield from _must_be_true_or_false(given[0], "IF")
        yield from _one_type(given[1:], "IF")

"""Calls of functions by name, and casts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from millstream.catalog.schema import SqlType, sql_type, type_name
from millstream.errors import suggest
from millstream.expressions.build import choices, rounding
from millstream.expressions.build.arithmetic import computed, negated
from millstream.expressions.build.builder import Builder, Unsupported
from millstream.expressions.build.casts import cast
from millstream.expressions.build.leaves import written_number
from millstream.expressions.build.steps import call
from millstream.expressions.build.types import sql_type_of
from millstream.expressions.elementary import known
from millstream.expressions.functions.registry import BY_SQL_NAME, FUNCTIONS
from millstream.expressions.tree import BOOL, DATE, FLOAT64, INT8, INT16, INT32, STRING, TIMESTAMP, Literal, Value
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.dialect import Esl
from millstream.language.parse.spark_dialect import LITERAL_TYPES, SUFFIX
from millstream.language.parse.written import written
from millstream.language.types import coercion as c

_CASTS = {
    **{name: name for name in ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double")},
    **dict.fromkeys(("date", "to_date"), "date"),
    **dict.fromkeys(("timestamp", "to_timestamp"), "timestamp"),
}
_ARITHMETIC = {
    "try_add": exp.Add,
    "try_subtract": exp.Sub,
    "try_multiply": exp.Mul,
    "try_divide": exp.Div,
    "mod": exp.Mod,
}
_AMONG = {**dict.fromkeys(("coalesce", "nvl", "ifnull"), "coalesce"), "greatest": "greatest", "least": "least"}
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}
_CONSTANTS = {"pi": 3.141592653589793, "e": 2.718281828459045}
_PARTS = {
    **{n: n for n in ("year", "quarter", "month", "day", "hour", "minute")},
    "dayofweek": "dayofweek",
    "dow": "dayofweek",
    "doy": "dayofyear",
    "week": "weekofyear",
}
"""What EXTRACT can take out of a time, and the function that does it."""

Special = Callable[[Builder, exp.Expr, Sequence[exp.Expr]], Value]


def cast_node(builder: Builder, node: exp.Expr) -> Value:
    """`CAST(a AS INT)`, and literals that say their type: `2L`, `DATE '2024-02-29'`."""
    if SUFFIX in node.meta and isinstance(node.this, exp.Literal):
        return written_number(builder, node, node.this.name)
    return _cast(builder, node, node.this, node.args["to"])


def _cast(builder: Builder, node: exp.Expr, argument: exp.Expr, wanted: SqlType) -> Value:
    inner, to = builder.value(argument), builder.types(wanted)
    if to == TIMESTAMP and inner.type == STRING and wanted.is_type("timestamp_ntz"):  # in bodies
        return call("timestamp_ntz_of", [inner], to)
    # Without a zone it is no point in time.
    floating = to is not None and to.is_whole and sql_type_of(argument).this is exp.DType.TIMESTAMPNTZ
    found = None if to is None or floating else cast(inner, to, widens=builder.widens)
    # TIMESTAMP 'now' is no cast that fails, but a word that Spark knows.
    literal = known(found) if found is not None and type(node) is exp.Cast and inner.type == STRING else None
    if found is None or (literal is not None and literal.value is None):
        raise builder.refusal(node, f"a cast to {type_name(wanted)} is not possible {builder.place}")
    if literal is not None and node.this.is_string and wanted.this in LITERAL_TYPES:
        return replace(literal, text=node.sql(dialect=Esl))
    return found


def pipe(builder: Builder, node: exp.Expr) -> Value:
    """`a || b`."""
    return call("append", [builder.text(n) for n in (node.this, node.expression)], STRING)


def function(builder: Builder, node: exp.Expr) -> Value:
    """A call, by the name of the function."""
    name, arguments = _called(node)
    if name in BY_SQL_NAME:
        return _plain(builder, node, name, arguments)
    if name == "string" and len(arguments) == 1:
        return call("string", [builder.text(arguments[0])], STRING)
    if name in _CASTS and len(arguments) == 1:
        return _cast(builder, node, arguments[0], sql_type(_CASTS[name]))
    if name in _AMONG and len(arguments) > (name in {"greatest", "least"}):
        return choices.among(builder, node, _AMONG[name], arguments)
    if name in _CONSTANTS and not arguments:
        return Literal(_CONSTANTS[name], FLOAT64)
    special, counts = _SPECIAL.get(name, (None, ()))
    if special is not None and len(arguments) in counts:
        return special(builder, node, arguments)
    if builder.lenient:
        raise builder.refusal(node, f"the function {name} is Spark's own")
    callable_ = [n for n in NAMES if n not in FUNCTIONS or FUNCTIONS[n].python is not None]
    hint = suggest(name, callable_)
    raise builder.refusal(node, f"the function {name} cannot be used {builder.place} yet", hint)


def _called(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    name = name_of_call(node)
    if isinstance(node, exp.Trim) and node.args.get("position"):
        name = _TRIMS.get(str(node.args["position"]).upper(), "trim")
    if isinstance(node, exp.Extract):
        return "extract", [exp.Literal.string(node.name), node.expression]
    return name or type(node).__name__.lower(), [a for a in node.iter_expressions() if not isinstance(a, exp.Star)]


def _plain(builder: Builder, node: exp.Expr, name: str, arguments: Sequence[exp.Expr]) -> Value:
    found = BY_SQL_NAME[name]
    types = found.types(len(arguments))
    if name.startswith("unix_") and len(arguments) == 1:
        _check_time(name, arguments[0])
    if types is None:
        message = f"{name.upper()} cannot take {len(arguments)} arguments"
        raise Unsupported(node, message, "see SHOW FUNCTIONS", mistake=True)
    fitted = [builder.argument(a, to) for a, to in zip(arguments, types, strict=True)]
    return call(found.name, fitted, builder.type(node))


def _check_time(name: str, node: exp.Expr) -> None:
    type_ = sql_type_of(node)
    if not (c.is_timestamp(type_) or c.is_null(type_)):
        message = f"{name.upper()} needs a TIMESTAMP, and {written(node)} is {type_name(type_)}"
        raise Unsupported(node, message, f"write CAST({written(node)} AS TIMESTAMP)", mistake=True)


def _arithmetic(builder: Builder, node: exp.Expr, arguments: Sequence[exp.Expr]) -> Value:
    return computed(builder, node, _ARITHMETIC[name_of_call(node) or ""], *arguments)


def _positive(builder: Builder, node: exp.Expr, arguments: Sequence[exp.Expr]) -> Value:
    type_ = builder.type(node)
    return call("positive", [builder.value_as(arguments[0], type_)], type_)


def _positive_remainder(builder: Builder, node: exp.Expr, arguments: Sequence[exp.Expr]) -> Value:
    type_ = builder.type(node)
    if not (type_.is_whole or type_.is_float):
        raise builder.refusal(node)
    name = "pmod_int" if type_ in {INT8, INT16} else f"pmod_{type_}"
    return call(name, [builder.value_as(a, type_) for a in arguments], type_)


def _null_test(name: str) -> Special:
    return lambda builder, node, arguments: call(name, [builder.value(arguments[0])], BOOL)


def _log(builder: Builder, node: exp.Expr, arguments: Sequence[exp.Expr]) -> Value:
    return call("ln" if len(arguments) == 1 else "log", [builder.argument(a, FLOAT64) for a in arguments], FLOAT64)


def _trim(builder: Builder, node: exp.Expr, arguments: Sequence[exp.Expr]) -> Value:
    texts = [builder.text(a) for a in arguments]
    # LTRIM(characters, text), but TRIM(characters FROM text) comes with the text first.
    swapped = texts[::-1] if isinstance(node, exp.Anonymous) and len(texts) == 2 else texts
    return call(_called(node)[0], swapped, STRING)


def _extract(builder: Builder, node: exp.Expr, arguments: Sequence[exp.Expr]) -> Value:
    name = _PARTS.get(arguments[0].name.lower())
    if name is None:
        raise builder.refusal(node, f"the function extract cannot be used {builder.place} yet")
    wanted = TIMESTAMP if name in {"hour", "minute"} else DATE
    return call(name, [builder.value_as(arguments[1], wanted)], INT32)


def _array(builder: Builder, node: exp.Expr, arguments: Sequence[exp.Expr]) -> Value:
    type_ = builder.type(node)
    if type_.element is None:
        raise builder.refusal(node)
    return call("array", [builder.value_as(a, type_.element) for a in arguments], type_)


_SPECIAL: dict[str, tuple[Special, Sequence[int]]] = {
    **dict.fromkeys(_ARITHMETIC, (_arithmetic, (2,))),
    "pmod": (_positive_remainder, (2,)),
    "isnull": (_null_test("is_null"), (1,)),
    "isnotnull": (_null_test("is_not_null"), (1,)),
    **dict.fromkeys(("abs", "floor", "ceil", "ceiling"), (rounding.rounded, (1,))),
    "round": (rounding.round_, (1, 2)),
    "positive": (_positive, (1,)),
    "negative": (lambda builder, node, arguments: negated(builder, node, builder.value(arguments[0])), (1,)),
    "log": (_log, (1, 2)),
    "if": (choices.if_, (3,)),
    "nullif": (choices.nullif, (2,)),
    "nvl2": (choices.nvl2, (3,)),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), (_trim, (1, 2))),
    **dict.fromkeys(("extract", "date_part"), (_extract, (2,))),
    "array": (_array, range(1, 1000)),
}
"""The functions that have rules of their own, and how many arguments they can have."""

NAMES = sorted([*BY_SQL_NAME, *_CASTS, "string", *_AMONG, *_CONSTANTS, *_SPECIAL])
"""The functions that are computed outside of Spark, by the names that SQL has for them."""

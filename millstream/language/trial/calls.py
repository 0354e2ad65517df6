"""Calls with arguments that only Spark can judge: regular expressions, time zones, formats, paths, keys, options.

Where such an argument is written out, it is right or wrong whatever the rows hold. So the call is tried before a query
starts, over a sample in place of each argument that is read from rows (spark/try_calls.py does so).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import DerivedStream, Select
from millstream.catalog.schema import UNKNOWN, SqlType
from millstream.errors import TypeMismatch
from millstream.language.bind.check_calls import expressions_of
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.spans import span_of
from millstream.language.parse.written import told
from millstream.language.types import coercion as c

_OF_TYPES = (exp.Cast, exp.TryCast, exp.Extract, exp.Interval, exp.Bracket, exp.Dot, exp.Case)
"""What makes other types of types, besides calls; operators are the binder's."""


@dataclass(frozen=True)
class _Judged:
    """Which texts among the arguments of a function Spark judges, what each must be, and how to write it.

    `text` and `number` stand for texts and numbers that are read from rows. `exact`: what is said depends on the types
    of the others. `groups`: a further argument speaks of the groups of the expression.
    """

    places: tuple[int, ...]
    what: str
    hint: str
    text: str = "a"
    number: int = 1
    exact: bool = False
    groups: bool = False


_REGEX = (
    "regular expression",
    r"regular expressions are Java's, and a backslash in a text is written twice, as in '\\d+'",
)
_ZONE = ("time zone", "write 'Europe/Berlin', 'UTC' or '+01:00'")
_TIME = ("pattern of times", "write it like 'yyyy-MM-dd HH:mm:ss'")
_FORMAT = (
    "format for these arguments",
    "each % needs an argument of its kind: %d a whole number, %.2f another one, %s anything; %% is a per cent sign",
)
_PATH = ("path", "write it like '$.a[0]'")
_XPATH = ("path in XML", "write it like 'a/b/text()'")
_KEY = ("key, mode or padding of AES", "a key has 16, 24 or 32 bytes, and modes are GCM, CBC and ECB")
_OPTIONS = ("map of options", "write it like map('timestampFormat', 'yyyy-MM-dd')")

JUDGED: Mapping[str, _Judged] = {
    **dict.fromkeys(
        ["rlike", "regexp", "regexp_like", "regexp_count", "regexp_substr", "regexp_instr", "split"],
        _Judged((1,), *_REGEX),
    ),
    **dict.fromkeys(
        ["regexp_extract", "regexp_extract_all", "regexp_replace"], _Judged((1,), *_REGEX, number=0, groups=True)
    ),
    "str_to_map": _Judged((1, 2), *_REGEX),
    **dict.fromkeys(["from_utc_timestamp", "to_utc_timestamp"], _Judged((1,), *_ZONE)),
    "convert_timezone": _Judged((0, 1), *_ZONE, text="UTC"),
    **dict.fromkeys(
        ["make_timestamp", "make_timestamp_ltz", "try_make_timestamp", "try_make_timestamp_ltz"],
        _Judged((2, 6), *_ZONE),
    ),
    **dict.fromkeys(["format_string", "printf"], _Judged((0,), *_FORMAT, exact=True)),
    "format_number": _Judged((1,), "format of numbers", "write '#,###.##', or the number of decimal places"),
    **dict.fromkeys(["date_format", "from_unixtime"], _Judged((1,), *_TIME)),
    **dict.fromkeys(
        [
            *("to_date", "to_timestamp", "to_timestamp_ltz", "to_timestamp_ntz", "to_unix_timestamp", "try_to_date"),
            *("try_to_timestamp", "unix_timestamp"),
        ],
        _Judged((1,), *_TIME, text="2024-01-01"),
    ),
    **dict.fromkeys(["variant_get", "try_variant_get"], _Judged((1,), *_PATH, exact=True)),
    **dict.fromkeys(
        [
            *("xpath", "xpath_boolean", "xpath_double", "xpath_float", "xpath_int", "xpath_long", "xpath_number"),
            *("xpath_short", "xpath_string"),
        ],
        _Judged((1,), *_XPATH, text="<a><b>1</b></a>"),
    ),
    "aes_encrypt": _Judged((1, 2, 3), *_KEY, text="0123456789abcdef", exact=True),
    **dict.fromkeys(["to_json", "to_csv"], _Judged((1,), *_OPTIONS, exact=True)),
    **dict.fromkeys(["from_json", "from_csv"], _Judged((2,), *_OPTIONS, exact=True)),
}
"""The functions that fail for some arguments whatever the rows hold."""


@dataclass(frozen=True)
class TrialCall:
    """A call to try, and the error that it is if it fails."""

    tried: exp.Expression
    error: TypeMismatch


def below(selects: Iterable[Select], catalog: Catalog) -> tuple[DerivedStream, ...]:
    """The derived streams that SELECTs read, those that these read among them."""
    found: dict[str, DerivedStream] = {}
    for select in selects:
        for name in select.reads:
            stream = catalog.relation(name)
            if isinstance(stream, DerivedStream):
                found.update({s.name: s for s in (*below([stream.select], catalog), stream)})
    return tuple(found.values())


def calling(bound: object) -> list[exp.Expression]:
    """The expressions of bound statements of which the binder does not know all that Spark does of their types."""
    return [e for e in expressions_of(bound) if isinstance(e, exp.Expression) and any(map(_is_judged, e.walk()))]


def _is_judged(node: exp.Expr) -> bool:
    return bool(_call(node)[0]) or isinstance(node, _OF_TYPES)


def trial_calls(bound: object, text: str) -> Iterator[TrialCall]:
    """The calls of a bound statement that are to be tried, inner ones first.

    >>> from sqlglot import parse_one
    >>> [trial.tried.sql("spark") for trial in trial_calls([parse_one("x RLIKE 'a('", dialect="spark")], "")]
    ["RLIKE('', 'a(')"]
    """
    for expression in expressions_of(bound):
        for node in reversed(list(expression.walk())):
            yield from _trials(node, text)


def _trials(node: exp.Expr, text: str) -> Iterator[TrialCall]:
    name, arguments = _call(node)
    judged = JUDGED.get(name)
    if judged is None:
        return
    judges = [a for place, a in enumerate(arguments) if place in judged.places and _is_written(a)]
    samples = [a.copy() if _is_constant(a) else _sample(_type(a), judged) for a in arguments]
    tried = [sample for sample in samples if sample is not None]
    if not judges or len(tried) < len(arguments):
        return

    def trial(message: str, function: str, arguments: list[exp.Expr], hint: str = judged.hint) -> TrialCall:
        error = TypeMismatch(message, text, span_of(node), clause="statement", hint=hint)
        return TrialCall(exp.Anonymous(this=function, expressions=arguments), error)

    wrong = " and ".join(told(a) for a in judges)
    if judged.what == _REGEX[0]:
        for each in judges:
            both = [exp.Literal.string(""), each.copy()]
            yield trial(f"{name}: {told(each)} is no {judged.what}", "rlike", both)
    else:
        yield trial(f"{name}: {wrong} is no {judged.what}", name, tried)
    if judged.groups:  # they are looked at where something matches, as nothing does anywhere
        matching = exp.Anonymous(this="concat", expressions=[tried[1].copy(), exp.Literal.string("|")])
        others = [a for a in arguments[2:] if _is_constant(a)]
        asked = f"the groups that {told(others[0])} asks for" if others else "a group in brackets"
        hint = "each pair of brackets is a group, and 0 is all that matches"
        yield trial(f"{name}: {wrong} has not {asked}", name, [tried[0].copy(), matching, *tried[2:]], hint)


def _call(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    if isinstance(node, exp.RegexpLike):
        return "rlike", [node.this, node.expression]
    return name_of_call(node) or "", list(node.expressions)


def _is_constant(node: exp.Expr) -> bool:
    """Whether an argument is written out: there is no name in it."""
    return not any(isinstance(part, exp.Column | exp.Identifier | exp.Lambda) for part in node.walk())


def _is_written(node: exp.Expr) -> bool:
    """Whether it is written out, and may be what the function judges: neither a number nor a time is."""
    type_ = _type(node)
    return _is_constant(node) and not (c.is_numeric(type_) or c.is_date(type_) or c.is_timestamp(type_))


def _type(node: exp.Expr) -> SqlType:
    return node.type if isinstance(node.type, exp.DataType) else UNKNOWN


def _sample(type_: SqlType, judged: _Judged) -> exp.Expr | None:
    """A value of a type, None where there is none to show."""
    if c.is_unknown(type_) or c.is_null(type_):
        return None if judged.exact else exp.Literal.string(judged.text)
    if type_.this is exp.DType.STRUCT:
        fields = [(exp.Literal.string(f.name), _sample(f.args["kind"], judged)) for f in type_.expressions]
        return _built("named_struct", [part for field in fields for part in field])
    if type_.this in (exp.DType.ARRAY, exp.DType.MAP):
        return _built(type_.this.value.lower(), [_sample(inner, judged) for inner in type_.expressions])
    if c.is_boolean(type_):
        return exp.Boolean(this=True)
    if c.is_string(type_):
        return exp.Literal.string(judged.text)
    text = "2024-01-01 00:00:00" if c.is_date(type_) or c.is_timestamp(type_) else judged.text
    value = exp.Literal.number(judged.number) if c.is_numeric(type_) else exp.Literal.string(text)
    return exp.TryCast(this=value, to=type_.copy())


def _built(name: str, parts: list[exp.Expr | None]) -> exp.Expr | None:
    known = [part for part in parts if part is not None]
    return exp.Anonymous(this=name, expressions=known) if len(known) == len(parts) else None

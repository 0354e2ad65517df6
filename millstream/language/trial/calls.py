"""Calls with arguments that only Spark can judge: regular expressions, time zones, formats, paths, keys, options.

Where such an argument is written out, it is right or wrong whatever the rows hold. So the call is tried before a query
starts, over a sample in place of each argument that is read from rows (spark/try_calls.py does so).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import DerivedStream
from millstream.catalog.select import Select
from millstream.errors import TypeMismatch
from millstream.expressions.reading import span_of, walk
from millstream.expressions.tree import BOOL, INT32, STRING, Column, Lambda, Literal, OnlySpark, Parameter, Type, Value
from millstream.expressions.words import message_text
from millstream.expressions.written import type_text
from millstream.language.bind.calls.check_calls import expressions_of
from millstream.language.parse.clause_at import STATEMENT, clause_at


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

    tried: Value
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


def calling(bound: object) -> list[Value]:
    """The expressions of bound statements of which the binder does not know all that Spark does of their types."""
    return [e for e in expressions_of(bound) if any(isinstance(part, OnlySpark) for part in walk(e))]


def trial_calls(bound: object, text: str) -> Iterator[TrialCall]:
    """The calls of a bound statement that are to be tried, inner ones first.

    >>> from millstream.expressions.words import words
    >>> call = OnlySpark("rlike", (Column("x", STRING), Literal("a(", STRING)), BOOL)
    >>> [words(trial.tried) for trial in trial_calls([call], "")]
    ["RLIKE('', 'a(')"]
    """
    for expression in expressions_of(bound):
        for part in reversed(list(walk(expression))):
            yield from _trials(part, text)


def _trials(part: Value, text: str) -> Iterator[TrialCall]:
    name, arguments = _call(part)
    judged = JUDGED.get(name)
    if judged is None:
        return
    judges = [a for place, a in enumerate(arguments) if place in judged.places and _is_written(a)]
    samples = [a if _is_constant(a) else _sample(a.type, judged) for a in arguments]
    tried = [sample for sample in samples if sample is not None]
    if not judges or len(tried) < len(arguments):
        return

    def trial(message: str, function: str, arguments: Sequence[Value], hint: str = judged.hint) -> TrialCall:
        span = span_of(part)
        clause = clause_at(text, span[0]) if span else STATEMENT
        error = TypeMismatch(message, text, span, clause=clause, hint=hint)
        return TrialCall(OnlySpark(function, tuple(arguments), part.type), error)

    wrong = " and ".join(message_text(a) for a in judges)
    if judged.what == _REGEX[0]:
        for each in judges:
            yield trial(f"{name}: {message_text(each)} is no {judged.what}", "rlike", [_text(""), each])
    else:
        yield trial(f"{name}: {wrong} is no {judged.what}", name, tried)
    if judged.groups:  # they are looked at where something matches, as nothing does anywhere
        matching = OnlySpark("concat", (tried[1], _text("|")), STRING)
        others = [a for a in arguments[2:] if _is_constant(a)]
        asked = f"the groups that {message_text(others[0])} asks for" if others else "a group in brackets"
        hint = "each pair of brackets is a group, and 0 is all that matches"
        yield trial(f"{name}: {wrong} has not {asked}", name, [tried[0], matching, *tried[2:]], hint)


def _call(part: Value) -> tuple[str, tuple[Value, ...]]:
    if not isinstance(part, OnlySpark) or (part.form and part.name != "regexplike"):
        return "", ()
    return "rlike" if part.form else part.name, part.arguments


def _is_constant(value: Value) -> bool:
    """Whether an argument is written out: there is no name in it."""
    return not any(isinstance(part, Column | Parameter | Lambda) for part in walk(value))


def _is_written(value: Value) -> bool:
    """Whether it is written out, and may be what the function judges: neither a number nor a time is."""
    return _is_constant(value) and not (_is_number(value.type) or _is_time(value.type))


def _is_number(type_: Type) -> bool:
    return type_.is_whole or type_.is_float or type_.name == "decimal"


def _is_time(type_: Type) -> bool:
    return type_.name == "date" or type_.name.startswith("timestamp")


def _sample(type_: Type, judged: _Judged) -> Value | None:
    """A value of a type, None where there is none to show."""
    match type_.name:
        case "unknown" | "null":
            return None if judged.exact else _text(judged.text)
        case "struct":
            fields = [(_text(name), _sample(inner, judged)) for name, inner in type_.fields]
            return _built("named_struct", [part for field in fields for part in field], type_)
        case "array" | "map":
            inner = (type_.key, type_.element)
            return _built(type_.name, [_sample(part, judged) for part in inner if part is not None], type_)
        case "bool":
            return Literal(True, BOOL)
        case "string":
            return _text(judged.text)
    text = "2024-01-01 00:00:00" if _is_time(type_) else judged.text
    value = Literal(judged.number, INT32) if _is_number(type_) else _text(text)
    return OnlySpark("cast", (value,), type_, ("TRY_CAST(", f" AS {type_text(type_)})"))


def _text(value: str) -> Literal:
    return Literal(value, STRING)


def _built(name: str, parts: Sequence[Value | None], type_: Type) -> Value | None:
    known = [part for part in parts if part is not None]
    return OnlySpark(name, tuple(known), type_) if len(known) == len(parts) else None

"""Expressions in the words of SQL, for readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millstream.expressions.functions.registry import FUNCTIONS
from millstream.expressions.tree import Call, Case, Column, Lambda, Literal, OnlySpark, Parameter, Value
from millstream.expressions.written import PART, SIGN, WHOLE, Text, called, quoted, type_text

QUOTE = "'"
_ESCAPES = {ord("\\"): "\\\\", ord("\n"): "\\n", ord("\t"): "\\t", ord("\r"): "\\r"}

Write = Callable[[Value], Text]


def words(value: Value) -> str:
    """An expression as a user would write it: casts that nobody has written are not shown.

    >>> from millstream.expressions.tree import INT32, INT64
    >>> wide = Call("widen", (Column("a b", INT32),), INT64, unwritten=True)
    >>> words(Call("add_int64", (wide, Column("c", INT64)), INT64))
    '`a b` + c'
    """
    return _words(value).text


def message_text(value: Value) -> str:
    """The same in a message: columns of the system's own are what users have written for them."""
    return _message_text(value).text


def _words(value: Value) -> Text:
    match value:
        case Column(name=name) | Parameter(name=name):
            return Text(name if name.isidentifier() else quoted(name))
        case Literal():
            return literal_text(value, "''")
        case Call(unwritten=True):
            return _words(value.arguments[0])
        case Call():
            function = FUNCTIONS[value.function]
            return function.words.write(value, [_words(part) for part in function.said(value)])
        case OnlySpark():
            return spark_construct(value, [_words(part) for part in value.arguments])
    return around(value, _words)


def _message_text(value: Value) -> Text:
    match value:
        case Column(text=str(text)):
            return Text(text)
        case Call(unwritten=True):
            return _message_text(value.arguments[0])
        case Call():
            function = FUNCTIONS[value.function]
            return function.words.write(value, [_message_text(part) for part in function.said(value)])
        case OnlySpark():
            return spark_construct(value, [_message_text(part) for part in value.arguments])
        case Case() | Lambda():
            return around(value, _message_text)
    return _words(value)


def around(value: Value, write: Write) -> Text:
    """A CASE or a function without a name, whose parts are written so."""
    match value:
        case Case(branches=branches, default=default):
            texts = [f"WHEN {write(condition).text} THEN {write(then).text}" for condition, then in branches]
            texts += [] if isinstance(default, Literal) and default.value is None else [f"ELSE {write(default).text}"]
            return Text(f"CASE {' '.join(texts)} END")
        case Lambda(parameters=[parameter], body=body):
            return Text(f"{parameter} -> {write(body).text}", 0)
        case Lambda(parameters=parameters, body=body):
            return Text(f"({', '.join(parameters)}) -> {write(body).text}", 0)
    raise TypeError(f"{type(value).__name__} has no text")


def spark_construct(value: OnlySpark, parts: Sequence[Text]) -> Text:
    """What only Spark computes, around its arguments."""
    if not value.form:
        return Text(f"{value.name.upper()}({', '.join(part.text for part in parts)})")
    if not parts:
        return Text(value.form[0])
    opens, closes = value.form[0], value.form[-1]
    behind = not opens and (closes.endswith("]") or closes.startswith("."))
    enclosed = opens.endswith("(") and closes.endswith(")")
    if enclosed and len(parts) == 1:
        return Text(f"{opens}{parts[0].text}{closes}")
    given = [parts[0].at(PART if behind else WHOLE), *(part.at(WHOLE) for part in parts[1:])]
    text = "".join(piece + part for piece, part in zip(value.form, [*given, ""], strict=True))
    whole = enclosed or (text.startswith("CASE ") and text.endswith(" END"))
    return Text(text, WHOLE if whole else PART if behind else 0)


def literal_text(literal: Literal, quote: str) -> Text:
    """A value that is written out; `quote` stands for a quote within a text."""
    if literal.text is not None:
        return Text(literal.text, SIGN if literal.text.startswith("-") else WHOLE)
    value, type_ = literal.value, literal.type
    if value is None:
        return Text("NULL" if type_.name == "null" else f"CAST(NULL AS {type_text(type_)})")
    if isinstance(value, bool):
        return Text(str(value).upper())
    if isinstance(value, str):
        return Text(f"'{value.translate({**_ESCAPES, ord(QUOTE): quote})}'")
    match type_.name:
        case "date":
            return Text(f"DATE_FROM_UNIX_DATE({value})")
        case "timestamp":
            return Text(f"TIMESTAMP_MICROS({value})")
        case "timestamp_ntz":
            return Text(f"CAST(TIMESTAMP_MICROS({value}) AS TIMESTAMP_NTZ)")
        case "interval":
            return Text(f"MAKE_DT_INTERVAL(0, 0, 0, {value} / 1000000BD)")
        case "months":
            return Text(f"MAKE_YM_INTERVAL(0, {value})")
        case "int32":
            return _number(str(value))
        case "decimal":
            return called("CAST").write(  # its digits alone may be fewer
                Call("", (), type_), [Text(f"{value:f}BD AS {type_text(type_)}")]
            )
    return called("CAST").write(Call("", (), type_), [Text(f"{value!r} AS {type_text(type_)}")])


def _number(text: str) -> Text:
    return Text(text, SIGN if text.startswith("-") else WHOLE)

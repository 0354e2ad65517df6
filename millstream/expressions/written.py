"""How SQL writes functions and operators: what functions say of themselves, for readers and for Spark.

Texts know how tightly their parts hold together, so that brackets stand where they are needed and nowhere else. The
order is that of Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from millstream.expressions.tree import Call, Type

OR, AND, NOT, PREDICATE, COMPARISON, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, SIGN, PART, WHOLE = range(14)
"""How tightly operators bind; what is WHOLE needs no brackets anywhere."""


class Text(NamedTuple):
    """A text, and how tightly its outermost operator binds."""

    text: str
    level: int = WHOLE

    def at(self, level: int) -> str:
        """The text where something stands that binds as tightly."""
        return self.text if self.level >= level else f"({self.text})"


@dataclass(frozen=True)
class Writing:
    """One way to write a function: its name among those who compare functions, and what makes the text of a call."""

    name: str
    write: Callable[[Call, Sequence[Text]], Text]
    typed: bool = False


def called(name: str) -> Writing:
    """`NAME(a, b)`."""
    return Writing(name, lambda call, parts: Text(f"{name}({', '.join(part.text for part in parts)})"))


def infix(sign: str, level: int) -> Writing:
    """`a + b`, and the like; brackets show where the right side is computed first."""

    def write(call: Call, parts: Sequence[Text]) -> Text:
        loose = level in {OR, AND}
        sides = [parts[0].at(level), *(part.at(level if loose else level + 1) for part in parts[1:])]
        return Text(f" {sign} ".join(sides), level)

    return Writing(sign, write)


def prefix(sign: str, level: int) -> Writing:
    """`NOT a`, and the like."""
    between = " " if sign.isalpha() else ""
    return Writing(f"{sign} a", lambda call, parts: Text(f"{sign}{between}{parts[0].at(level + 1)}", level))


def pattern(text: str, level: int = WHOLE) -> Writing:
    """Any other form, as `CAST({0} AS {type})`. Inside brackets arguments need none of their own."""
    enclosed = level == WHOLE

    def write(call: Call, parts: Sequence[Text]) -> Text:
        given = [part.text if enclosed else part.at(level + 1) for part in parts]
        return Text(text.format(*given, type=type_text(call.type)), level)

    return Writing(text, write, typed="{type}" in text)


def tried(function: str, plain: Writing) -> Writing:
    """For Spark: an operator whose result may be too great, then NULL, as a function of that name."""
    return Writing(plain.name, lambda call, parts: called(function).write(call, parts))


_NAMES = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "null": "VOID",
    "calendar interval": "INTERVAL",
}


def type_text(type_: Type) -> str:
    """A type in Spark's words.

    >>> type_text(Type("map", key=Type("string"), element=Type("decimal", 10, 2)))
    'MAP<STRING, DECIMAL(10, 2)>'
    """
    match type_.name:
        case "array":
            return f"ARRAY<{_inner(type_.element)}>"
        case "map":
            return f"MAP<{_inner(type_.key)}, {_inner(type_.element)}>"
        case "struct":
            return f"STRUCT<{', '.join(f'{quoted(name)}: {type_text(inner)}' for name, inner in type_.fields)}>"
        case "decimal":
            return f"DECIMAL({type_.precision}, {type_.scale})"
        case "interval" | "months":
            units = type_.units or (("DAY", "SECOND") if type_.name == "interval" else ("YEAR", "MONTH"))
            return f"INTERVAL {' TO '.join(dict.fromkeys(units))}"
    return _NAMES.get(type_.name) or type_.name.upper()


def _inner(type_: Type | None) -> str:
    assert type_ is not None  # noqa: S101
    return type_text(type_)


def quoted(name: str) -> str:
    """A name that may hold anything."""
    return "`" + name.replace("`", "``") + "`"


def string_text(value: str) -> str:
    """A text as Spark reads it."""
    return "'" + re.sub(r"[\\']", lambda found: "\\" + found.group(), value) + "'"


CAST, TRY_CAST = pattern("CAST({0} AS {type})"), pattern("TRY_CAST({0} AS {type})")
PLUS, MINUS = infix("+", SUM), infix("-", SUM)
TRIED_PLUS, TRIED_MINUS = tried("TRY_ADD", PLUS), tried("TRY_SUBTRACT", MINUS)


def within_time(name: str) -> Writing:
    """For Spark: a call whose result may lie past the ends of time, which would stop a query."""
    return Writing(
        name, lambda call, parts: Text(f"TRY_ADD({called(name).write(call, parts).text}, INTERVAL '0' SECOND)")
    )


def within_days(name: str) -> Writing:
    """The same of days."""
    return Writing(name, lambda call, parts: Text(f"TRY_ADD({called(name).write(call, parts).text}, 0)"))


def days_later(sign: str, function: str) -> Writing:
    """For Spark: so many days later or earlier, which would wrap around in silence."""

    def write(call: Call, parts: Sequence[Text]) -> Text:
        day, count = (part.text for part in parts)
        return Text(f"DATE_FROM_UNIX_DATE({function}(UNIX_DATE(CAST({day} AS DATE)), {count}))")

    return Writing(sign, write)

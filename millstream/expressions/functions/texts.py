"""Texts: letters, parts, and what is in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.expressions.arrow.values import Values
from millstream.expressions.functions.function import Computation, Function, Maybe, literals, plain, written_out
from millstream.expressions.tree import BOOL, INT32, STRING, Call, Value
from millstream.expressions.written import SUM, Text, Writing, called, infix

_SPACE = " "
_BLANK, _NOTHING = pa.scalar(" "), pa.scalar("")


def concat(*parts: Maybe) -> Maybe:
    """Texts joined; NULL if one of them is."""
    return None if any(p is None for p in parts) else "".join(parts)


def concat_ws(separator: Maybe, *parts: Maybe) -> Maybe:
    """Texts joined by another, without those that are NULL."""
    return None if separator is None else separator.join(p for p in parts if p is not None)


def upper(a: Maybe) -> Maybe:
    """In capitals."""
    return None if a is None else a.upper()


def lower(a: Maybe) -> Maybe:
    """In small letters."""
    return None if a is None else a.lower()


def length(a: Maybe) -> Maybe:
    """The number of characters."""
    return None if a is None else len(a)


def substring(a: Maybe, start: Maybe, count: Maybe = 2**31 - 1) -> Maybe:
    """The part from a place, counted from 1, or from the end if it is negative.

    >>> substring("Spark SQL", 5, 1), substring("Spark SQL", -3, 2), substring("ab", -3, 2), substring("ab", 0)
    ('k', 'SQ', 'a', 'ab')
    """
    if a is None or start is None or count is None:
        return None
    begin = start - 1 if start > 0 else len(a) + start if start < 0 else 0
    end = min(begin + count, 2**31 - 1)
    return a[max(begin, 0) : max(end, 0)]


def left(a: Maybe, count: Maybe) -> Maybe:
    """The first characters."""
    return None if a is None or count is None else a[: max(count, 0)]


def right(a: Maybe, count: Maybe) -> Maybe:
    """The last characters."""
    return None if a is None or count is None else a[len(a) - count :] if 0 < count < len(a) else a if count > 0 else ""


def trim(a: Maybe, characters: Maybe = _SPACE) -> Maybe:
    """Without the characters at both ends."""
    return None if a is None or characters is None else a.strip(characters) if characters else a


def ltrim(a: Maybe, characters: Maybe = _SPACE) -> Maybe:
    """Without the characters at the beginning."""
    return None if a is None or characters is None else a.lstrip(characters) if characters else a


def rtrim(a: Maybe, characters: Maybe = _SPACE) -> Maybe:
    """Without the characters at the end."""
    return None if a is None or characters is None else a.rstrip(characters) if characters else a


def replace(a: Maybe, old: Maybe, new: Maybe = "") -> Maybe:
    """With one text in the place of another."""
    if a is None or old is None or new is None:
        return None
    return a.replace(old, new) if old else a


def reverse(a: Maybe) -> Maybe:
    """Backwards."""
    return None if a is None else a[::-1]


def contains(a: Maybe, part: Maybe) -> Maybe:
    """Whether a text is part of another."""
    return None if a is None or part is None else part in a


def startswith(a: Maybe, part: Maybe) -> Maybe:
    """Whether it begins so."""
    return None if a is None or part is None else a.startswith(part)


def endswith(a: Maybe, part: Maybe) -> Maybe:
    """Whether it ends so."""
    return None if a is None or part is None else a.endswith(part)


def instr(a: Maybe, part: Maybe) -> Maybe:
    """The place of a part, counted from 1; 0 if it is not there."""
    return None if a is None or part is None else a.find(part) + 1


def arrow_lower(value: Values) -> Values:
    """Small letters, of all alphabets."""
    return _letters(value, pc.ascii_lower, str.lower)


def arrow_upper(value: Values) -> Values:
    """Capital letters."""
    return _letters(value, pc.ascii_upper, str.upper)


def _letters(value: pa.Array, plain: Callable[..., Any], full: Callable[[str], str]) -> pa.Array:
    # Arrow maps letter to letter, but ß becomes SS: what is not ASCII goes through Python.
    found = plain(value)
    others = pc.invert(pc.fill_null(pc.string_is_ascii(value), True))
    if pc.any(others).as_py():
        texts = pa.array([full(text) for text in value.filter(others).to_pylist()], value.type)
        found = pc.replace_with_mask(found, others, texts)
    return found


def arrow_length(value: Values) -> Values:
    """How many characters a text has."""
    return pc.utf8_length(value)


def arrow_concat(*values: Values) -> Values:
    """The texts one after the other; NULL if one of them is."""
    return pc.binary_join_element_wise(*values, pa.scalar(""), null_handling="emit_null")


def arrow_substring(value: Values, start: int, count: int | None) -> Values:
    """The characters from a place on, which is counted from 1, or from the end if it is negative.

    >>> arrow_substring(pa.array(["abc", "abcdef"]), -5, 3).to_pylist()
    ['a', 'bcd']
    """
    begin = start - 1 if start > 0 else start
    end: int | None = -1 if start == -(2**31) else None  # Spark counts no further than to 2**31 - 1 from there
    if count is not None and count < 2**31 - 1:
        end = begin + max(count, 0)
        if begin < 0 <= end:
            end = None
    return pc.utf8_slice_codeunits(value, begin, end)


def _substring(call: Call) -> Computation | None:
    text, *places = call.arguments
    found = literals(places)
    if not found:
        return None
    return partial(arrow_substring, start=found[0], count=found[1] if len(found) > 1 else None), (text,)


def arrow_left(value: Values, count: pa.Scalar) -> Values:
    """The first characters."""
    return pc.utf8_slice_codeunits(value, 0, max(count.as_py(), 0))


def arrow_right(value: Values, count: pa.Scalar) -> Values:
    """The last characters."""
    wanted = count.as_py()
    return pc.utf8_slice_codeunits(value, -wanted) if wanted > 0 else pc.utf8_slice_codeunits(value, 0, 0)


def arrow_trim(value: Values, characters: pa.Scalar = _BLANK) -> Values:
    """Without the characters at both ends."""
    return pc.utf8_trim(value, characters.as_py()) if characters.as_py() else value


def arrow_ltrim(value: Values, characters: pa.Scalar = _BLANK) -> Values:
    """Without the characters at the beginning."""
    return pc.utf8_ltrim(value, characters.as_py()) if characters.as_py() else value


def arrow_rtrim(value: Values, characters: pa.Scalar = _BLANK) -> Values:
    """Without the characters at the end."""
    return pc.utf8_rtrim(value, characters.as_py()) if characters.as_py() else value


def arrow_replace(value: Values, old: pa.Scalar, new: pa.Scalar = _NOTHING) -> Values:
    """With one text in the place of another."""
    return pc.replace_substring(value, old.as_py(), new.as_py()) if old.as_py() else value


def arrow_contains(value: Values, part: pa.Scalar) -> Values:
    """Whether a text is part of another."""
    return pc.match_substring(value, part.as_py())


def arrow_startswith(value: Values, part: pa.Scalar) -> Values:
    """Whether it begins so."""
    return pc.starts_with(value, part.as_py())


def arrow_endswith(value: Values, part: pa.Scalar) -> Values:
    """Whether it ends so."""
    return pc.ends_with(value, part.as_py())


def _trimmed(name: str) -> Writing:
    """The characters that go come first."""
    return Writing(name, lambda call, parts: called(name).write(call, parts[::-1]))


def _trim(call: Call, parts: Sequence[Text]) -> Text:
    return called("TRIM" if len(parts) == 1 else "BTRIM").write(call, parts)


def _itself(call: Call) -> Value:
    """A text is made of the argument already, as it is where nobody asks for it."""
    return call.arguments[0]


def _append(call: Call) -> Value:
    return Call("concat", call.arguments, STRING)


_TRIM = Writing("TRIM", _trim)

FUNCTIONS = (
    Function("concat", (STRING,), STRING, concat, sql=("concat",), many=True, arrow=plain(arrow_concat)),
    Function("append", (STRING, STRING), STRING, written=infix("||", SUM), means=_append),
    Function("string", (STRING,), STRING, means=_itself),
    Function("concat_ws", (STRING,), STRING, concat_ws, sql=("concat_ws",), many=True, strict=False),
    Function("upper", (STRING,), STRING, upper, sql=("upper", "ucase"), arrow=plain(arrow_upper)),
    Function("lower", (STRING,), STRING, lower, sql=("lower", "lcase"), arrow=plain(arrow_lower)),
    Function(
        "length",
        (STRING,),
        INT32,
        length,
        sql=("length", "len", "char_length", "character_length"),
        arrow=plain(arrow_length),
    ),
    Function(
        "substring", (STRING, INT32, INT32), STRING, substring, sql=("substring", "substr"), fewest=2, arrow=_substring
    ),
    Function("left", (STRING, INT32), STRING, left, sql=("left",), arrow=written_out(arrow_left)),
    Function("right", (STRING, INT32), STRING, right, sql=("right",), arrow=written_out(arrow_right)),
    Function(
        "trim", (STRING, STRING), STRING, trim, sql=("btrim",), fewest=1, arrow=written_out(arrow_trim), written=_TRIM
    ),
    Function(
        "ltrim", (STRING, STRING), STRING, ltrim, fewest=1, arrow=written_out(arrow_ltrim), written=_trimmed("LTRIM")
    ),
    Function(
        "rtrim", (STRING, STRING), STRING, rtrim, fewest=1, arrow=written_out(arrow_rtrim), written=_trimmed("RTRIM")
    ),
    Function(
        "replace",
        (STRING, STRING, STRING),
        STRING,
        replace,
        sql=("replace",),
        fewest=2,
        arrow=written_out(arrow_replace),
    ),
    Function("reverse", (STRING,), STRING, reverse, sql=("reverse",)),
    Function("contains", (STRING, STRING), BOOL, contains, sql=("contains",), arrow=written_out(arrow_contains)),
    Function(
        "startswith", (STRING, STRING), BOOL, startswith, sql=("startswith",), arrow=written_out(arrow_startswith)
    ),
    Function("endswith", (STRING, STRING), BOOL, endswith, sql=("endswith",), arrow=written_out(arrow_endswith)),
    Function("instr", (STRING, STRING), INT32, instr, sql=("instr",)),
)

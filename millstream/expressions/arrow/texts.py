"""Texts in Arrow arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.expressions.arrow.values import Values


def lower(value: Values) -> Values:
    """Small letters, of all alphabets."""
    return _letters(value, pc.ascii_lower, str.lower)


def upper(value: Values) -> Values:
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


def length(value: Values) -> Values:
    """How many characters a text has."""
    return pc.utf8_length(value)


def concat(*values: Values) -> Values:
    """The texts one after the other; NULL if one of them is."""
    return pc.binary_join_element_wise(*values, pa.scalar(""), null_handling="emit_null")


def substring(value: Values, start: int, count: int | None) -> Values:
    """The characters from a place on, which is counted from 1, or from the end if it is negative.

    >>> substring(pa.array(["abc", "abcdef"]), -5, 3).to_pylist()
    ['a', 'bcd']
    """
    begin = start - 1 if start > 0 else start
    end: int | None = -1 if start == -(2**31) else None  # Spark counts no further than to 2**31 - 1 from there
    if count is not None and count < 2**31 - 1:
        end = begin + max(count, 0)
        if begin < 0 <= end:
            end = None
    return pc.utf8_slice_codeunits(value, begin, end)


def matches(value: Values, pattern: str) -> Values:
    """Whether a text matches a regular expression of RE2."""
    return pc.match_substring_regex(value, pattern)

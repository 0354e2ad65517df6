"""Whole numbers that are written out in a call: those for which the function always gives NULL, or always fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from sqlglot import exp

from millstream.catalog.schema import UNKNOWN, SqlType, type_name
from millstream.language.parse.written import message_text
from millstream.language.parse.written_values import whole_number
from millstream.language.types import coercion as c
from millstream.language.types.literals import stands_for

_PLACES: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(
        [
            *("add_months", "array_insert", "array_repeat", "bit_get", "bround", "ceil", "ceiling", "date_add"),
            *("date_sub", "floor", "getbit", "left", "lpad", "repeat", "right", "round", "rpad", "sha2", "shiftleft"),
            *("shiftright", "shiftrightunsigned"),
        ],
        (1,),
    ),
    **dict.fromkeys(["conv", "slice", "substr", "substring"], (1, 2)),
    **dict.fromkeys(["locate", "regexp_extract", "regexp_extract_all", "split_part", "substring_index"], (2,)),
    **dict.fromkeys(["char", "chr", "elt", "randstr", "space"], (0,)),
    **dict.fromkeys(["make_date", "make_timestamp", "make_timestamp_ltz", "make_timestamp_ntz"], (0, 1, 2)),
    "width_bucket": (3,),
}
"""Which arguments of a function are whole numbers."""

_BITS = {exp.DType.TINYINT: 8, exp.DType.SMALLINT: 16, exp.DType.INT: 32, exp.DType.BIGINT: 64}

Known = tuple[Callable[[int], bool], str]
_NOT_ZERO: Known = (lambda n: n != 0, "counts from 1, or from -1 at the end")
_NOT_NEGATIVE: Known = (lambda n: n >= 0, "counts from 0")
_ALLOWED: Mapping[tuple[str, int], Known] = {
    ("sha2", 1): (lambda n: n in {0, 224, 256, 384, 512}, "knows 224, 256, 384 and 512 bits"),
    ("conv", 1): (lambda n: 2 <= n <= 36, "knows the bases 2 to 36"),
    ("conv", 2): (lambda n: 2 <= abs(n) <= 36, "knows the bases 2 to 36"),
    ("slice", 1): _NOT_ZERO,
    ("slice", 2): (lambda n: n >= 0, "takes so many elements, from 0 on"),
    ("split_part", 2): _NOT_ZERO,
    ("array_insert", 1): _NOT_ZERO,
    ("regexp_extract", 2): _NOT_NEGATIVE,
    ("regexp_extract_all", 2): _NOT_NEGATIVE,
    ("elt", 0): (lambda n: n >= 1, "counts from 1"),
    ("randstr", 0): (lambda n: n >= 0, "makes texts of 0 letters and more"),
    ("width_bucket", 3): (lambda n: 1 <= n < 2**31 - 1, "needs one bucket at least"),
}
"""The numbers that mean something there."""


def whole_mistakes(name: str, arguments: Sequence[exp.Expr]) -> Iterator[tuple[exp.Expr, str, str]]:
    """The arguments of a call that can be no number there, what is wrong with each, and what to write instead.

    >>> def of(name, *arguments):
    ...     return [mistake[1:] for mistake in whole_mistakes(name, [exp.column("x"), *arguments])]
    >>> of("sha2", exp.Literal.number(7))
    [('sha2 has no use for 7', 'it knows 224, 256, 384 and 512 bits')]
    >>> of("round", exp.Literal.string("a"))
    [("'a' is no number, and round needs one", 'numbers are written without quotes')]
    >>> of("round", exp.Literal.number(2)), of("conv", exp.Literal.number(16), exp.column("y"))
    ([], [])
    """
    for place, argument in enumerate(arguments):
        if place in _places(name, arguments):
            yield from _mistakes(name, place, argument, _type(arguments[0]))


def _places(name: str, arguments: Sequence[exp.Expr]) -> tuple[int, ...]:
    if name == "make_timestamp" and len(arguments) < 6:
        return ()  # of a date and a time
    if name == "element_at":
        return (1,) if arguments and _type(arguments[0]).this is exp.DType.ARRAY else ()
    return _PLACES.get(name, ())


def _mistakes(name: str, place: int, node: exp.Expr, first: SqlType) -> Iterator[tuple[exp.Expr, str, str]]:
    if isinstance(node, exp.Literal) and node.is_string:
        if not stands_for(node.name, c.INT):
            yield node, f"'{node.name}' is no number, and {name} needs one", "numbers are written without quotes"
        return
    number = whole_number(node)
    if number is None:
        return
    fits, knows = _ALLOWED.get((name, place), _of_first(name, first))
    if not fits(number):
        yield node, f"{name} has no use for {message_text(node)}", f"it {knows}"


def _of_first(name: str, first: SqlType) -> Known:
    """What is allowed where it depends on the first argument."""
    if name == "element_at":
        return _NOT_ZERO
    if name in {"bit_get", "getbit"} and first.this in _BITS:
        bits = _BITS[first.this]
        return lambda n: 0 <= n < bits, f"knows the bits 0 to {bits - 1} of {type_name(first)}"
    return lambda _: True, ""


def _type(node: exp.Expr) -> SqlType:
    return node.type if isinstance(node.type, exp.DataType) else UNKNOWN

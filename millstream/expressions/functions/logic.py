"""AND, OR and NOT of three values, and IS NULL."""

from __future__ import annotations

from functools import partial

import pyarrow.compute as pc

from millstream.expressions.functions.function import ANY, Function, Maybe, Number, Result, plain
from millstream.expressions.tree import BOOL, Call, Literal, Value
from millstream.expressions.written import AND, NOT, OR, PREDICATE, infix, pattern, prefix


def both(a: Maybe, b: Maybe) -> Maybe:
    """`a AND b` of three values."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def kernel_both(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a AND b` of three values."""
    no = (not a_null and not a) or (not b_null and not b)
    return not no, not no and (a_null or b_null)


def either(a: Maybe, b: Maybe) -> Maybe:
    """`a OR b` of three values."""
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def kernel_either(a: Number, a_null: bool, b: Number, b_null: bool) -> Result:
    """`a OR b` of three values."""
    yes = (not a_null and a) or (not b_null and b)
    return yes, not yes and (a_null or b_null)


def negated(a: Maybe) -> Maybe:
    """`NOT a` of three values."""
    return None if a is None else not a


def kernel_negated(a: Number, a_null: bool) -> Result:
    """`NOT a` of three values."""
    return not a, a_null


def is_null(a: Maybe) -> bool:
    """`a IS NULL`."""
    return a is None


def is_not_null(a: Maybe) -> bool:
    """`a IS NOT NULL`."""
    return a is not None


def _is(truth: bool, call: Call) -> Value:
    return Call("same", (*call.arguments, Literal(truth, BOOL)), BOOL)


FUNCTIONS = (
    Function(
        "and",
        (BOOL, BOOL),
        BOOL,
        both,
        kernel_both,
        strict=False,
        arrow=plain(pc.and_kleene),
        written=infix("AND", AND),
    ),
    Function(
        "or",
        (BOOL, BOOL),
        BOOL,
        either,
        kernel_either,
        strict=False,
        arrow=plain(pc.or_kleene),
        written=infix("OR", OR),
    ),
    Function("not", (BOOL,), BOOL, negated, kernel_negated, arrow=plain(pc.invert), written=prefix("NOT", NOT)),
    Function(
        "is_null",
        (ANY,),
        BOOL,
        is_null,
        strict=False,
        arrow=plain(pc.is_null),
        written=pattern("{0} IS NULL", PREDICATE),
    ),
    Function(
        "is_not_null",
        (ANY,),
        BOOL,
        is_not_null,
        strict=False,
        arrow=plain(pc.is_valid),
        written=pattern("{0} IS NOT NULL", PREDICATE),
    ),
    Function("is_true", (BOOL,), BOOL, written=pattern("{0} IS TRUE", PREDICATE), means=partial(_is, True)),
    Function("is_false", (BOOL,), BOOL, written=pattern("{0} IS FALSE", PREDICATE), means=partial(_is, False)),
)

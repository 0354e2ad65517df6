"""Bound expressions as trees: names resolved, casts written out, literals worked out beforehand."""

import pytest

from millstream.expressions.build.builder import Builder, Unsupported
from millstream.expressions.build.nodes import BUILDS
from millstream.expressions.build.types import tree_type
from millstream.expressions.elementary import elementary
from millstream.expressions.functions.registry import FUNCTIONS
from millstream.expressions.tree import Call, Case, Column, Literal
from tests.expressions.drawn_conditions import TYPES, bound, conditions


def tree(text):
    columns = {name: Column(name, tree_type(type_)) for name, type_ in TYPES.items()}
    return elementary(Builder(BUILDS, lambda column: columns[column.name]).value(bound(text)))


def shown(value):
    match value:
        case Column():
            return value.name
        case Literal():
            return f"{value.value!r}:{value.type}"
        case Call():
            return f"{value.function}({', '.join(map(shown, value.arguments))})"
        case Case():
            branches = "; ".join(f"{shown(c)}: {shown(v)}" for c, v in value.branches)
            return f"case({branches}; else {shown(value.default)})"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('"a.i" + 1 > "b.l"', "gt(widen(add_int32(a.i, 1:int32)), b.l)"),
        ('"a.i" > 1 + 2', "gt(a.i, 3:int32)"),
        ('"a.p" > 5', "gt(a.p, Decimal('5.00'):decimal(10, 2))"),
        ("\"a.i\" = '7'", "eq(a.i, 7:int32)"),
        ('"a.d" / 2 IS NULL', "is_null(div_float64(a.d, 2.0:float64))"),
        ('CASE "a.i" WHEN "b.l" THEN "a.b" END', "case(eq(widen(a.i), b.l): a.b; else None:bool)"),
        ('nullif("a.b", "b.b")', "case(eq(a.b, b.b): None:bool; else a.b)"),
        ('"a.ts" + INTERVAL 1 MINUTE > "a.dt"', "gt(add_interval(a.ts, 60000000:interval), midnight(a.dt))"),
        ('"b.nt" = "a.ts"', "eq(with_zone(b.nt), a.ts)"),
        ("\"a.s\" NOT LIKE 'x!_' ESCAPE '!'", "not(like(a.s, 'x!_':string, '!':string))"),
        ('"a.i" IN (1, "b.l")', "one_of(widen(a.i), 1:int64, b.l)"),
        ('"a.b" AND TRUE AND NULL', "and(and(a.b, True:bool), None:bool)"),
        ("DATE '1970-01-03' = \"a.dt\"", "eq(2:date, a.dt)"),
    ],
)
def test_trees(text, wanted):
    assert shown(tree(text)) == wanted


def calls(value):
    if isinstance(value, Case):
        for condition, result in value.branches:
            yield from (*calls(condition), *calls(result))
        yield from calls(value.default)
    if isinstance(value, Call):
        yield value
        for argument in value.arguments:
            yield from calls(argument)


def test_arguments_have_the_types_that_functions_work_on():
    wrong, seen = [], set()
    for text in conditions(250):
        try:
            found = tree(text)
        except Unsupported:
            continue
        for call in calls(found):
            seen.add(call.function)
            function = FUNCTIONS[call.function]
            types = function.types(len(call.arguments))
            if types is None or not all(fits(a, t) for a, t in zip(call.arguments, types, strict=True)):
                wrong.append(f"{shown(call)} in {text}")
    assert not wrong
    assert len(seen) > 30


def fits(argument, wanted):
    type_ = argument.type
    match wanted.name:
        case "any":
            return True
        case "whole":
            return type_.is_whole
        case "digits":
            return isinstance(argument, Literal)
        case "decimal" | "array":
            return type_.name == wanted.name or type_.is_whole  # a whole number is one without a point
        case "timestamp":
            return type_.name in {"timestamp", "timestamp_ntz"}
    return type_ == wanted

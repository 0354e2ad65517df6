"""What the functions of arrays, maps and structs return."""

from __future__ import annotations

from sqlglot import exp

from millstream.catalog.schema import UNKNOWN, SqlType, type_name
from millstream.language.types import coercion as c
from millstream.language.types.function_types import Rule, TypedCall

_ARRAY, _MAP = exp.DType.ARRAY, exp.DType.MAP


def _known(type_: SqlType | None) -> SqlType:
    return UNKNOWN if type_ is None else type_


def _array(call: TypedCall) -> SqlType:
    return c.array_of(_known(c.widest(call.types)))


def _map(call: TypedCall) -> SqlType:
    return c.map_of(_known(c.widest(call.types[::2])), _known(c.widest(call.types[1::2])))


def _array_itself(call: TypedCall) -> SqlType:
    return call.type(0) if call.type(0).this is _ARRAY else UNKNOWN


def _map_itself(call: TypedCall) -> SqlType:
    return call.type(0) if call.type(0).this is _MAP else UNKNOWN


def _element(call: TypedCall) -> SqlType:
    return c.inner(call.type(0), _ARRAY)


def _with_element(call: TypedCall) -> SqlType:
    fits = type_name(c.inner(call.type(0), _ARRAY)) == type_name(call.types[-1])
    return _array_itself(call) if fits else UNKNOWN


def _same_sets(call: TypedCall) -> SqlType:
    fits = len({type_name(t) for t in call.types}) == 1
    return call.type(0) if fits and c.is_nested(call.type(0)) else UNKNOWN


def _element_at(call: TypedCall) -> SqlType:
    return c.inner(call.type(0), _MAP, 1) if call.type(0).this is _MAP else _element(call)


def _reverse(call: TypedCall) -> SqlType:
    first = call.type(0)
    return first if first.this is _ARRAY else c.STRING if c.is_string(first) or c.is_numeric(first) else UNKNOWN


def _sequence(call: TypedCall) -> SqlType:
    first, second = call.type(0), call.type(1)
    fits = c.is_integral(first) or c.is_date(first) or c.is_timestamp(first)
    step = call.type(2)
    same_step = len(call.types) == 2 or c.is_interval(step) or type_name(step) == type_name(first)
    return c.array_of(first) if fits and same_step and type_name(first) == type_name(second) else UNKNOWN


def _transform(call: TypedCall) -> SqlType:
    return c.array_of(call.body(call.nodes[1], [_element(call), c.INT]))


def _reduce(call: TypedCall) -> SqlType:
    start = call.type(1)
    merged = call.body(call.nodes[2], [start, _element(call)])
    if type_name(merged) != type_name(start):
        return UNKNOWN
    return start if len(call.nodes) < 4 else call.body(call.nodes[3], [start])


def _zip_with(call: TypedCall) -> SqlType:
    sides = [c.inner(call.type(i), _ARRAY) for i in (0, 1)]
    return c.array_of(call.body(call.nodes[2], sides))


def _map_sides(call: TypedCall) -> list[SqlType]:
    return [c.inner(call.type(0), _MAP, i) for i in (0, 1)]


def _transform_keys(call: TypedCall) -> SqlType:
    sides = _map_sides(call)
    return c.map_of(call.body(call.nodes[1], sides), sides[1])


def _transform_values(call: TypedCall) -> SqlType:
    sides = _map_sides(call)
    return c.map_of(sides[0], call.body(call.nodes[1], sides))


def _map_zip_with(call: TypedCall) -> SqlType:
    key, value = _map_sides(call)
    other = c.inner(call.type(1), _MAP, 1)
    if type_name(key) != type_name(c.inner(call.type(1), _MAP)):
        return UNKNOWN
    return c.map_of(key, call.body(call.nodes[2], [key, value, other]))


def _lambda_over_elements(rule: Rule) -> Rule:
    """The body is typed only for the marks that it leaves on the tree."""

    def typed(call: TypedCall) -> SqlType:
        if len(call.nodes) > 1:
            call.body(call.nodes[1], [_element(call), c.INT])
        return rule(call)

    return typed


def _map_filter(call: TypedCall) -> SqlType:
    call.body(call.nodes[1], _map_sides(call))
    return _map_itself(call)


def _map_entries(call: TypedCall) -> SqlType:
    key, value = _map_sides(call)
    return c.array_of(c.struct_of([("key", key), ("value", value)]))


def _map_from_arrays(call: TypedCall) -> SqlType:
    return c.map_of(*(c.inner(call.type(i), _ARRAY) for i in (0, 1)))


def _named_struct(call: TypedCall) -> SqlType:
    names = [call.text(i) for i in range(0, len(call.nodes), 2)]
    if len(call.nodes) % 2:
        return UNKNOWN
    pairs = zip(names, call.types[1::2], strict=True)
    return UNKNOWN if None in names else c.struct_of((str(n), t) for n, t in pairs)


def _struct(call: TypedCall) -> SqlType:
    names: list[str] = []
    for index, node in enumerate(call.nodes):
        if isinstance(node, exp.Star | exp.Dot | exp.Bracket | exp.Identifier):
            return UNKNOWN
        names.append(node.alias_or_name if isinstance(node, exp.Alias | exp.Column) else f"col{index + 1}")
    return c.struct_of(zip(names, call.types, strict=True))


def _arrays_zip(call: TypedCall) -> SqlType:
    if not all(isinstance(node, exp.Column) for node in call.nodes):
        return UNKNOWN  # the fields of others are numbered
    items = [c.inner(type_, _ARRAY) for type_ in call.types]
    return c.array_of(c.struct_of((node.name, item) for node, item in zip(call.nodes, items, strict=True)))


RULES: dict[str, Rule] = {
    "array": _array,
    "map": _map,
    "struct": _struct,
    "named_struct": _named_struct,
    **dict.fromkeys(["array_compact", "array_distinct", "shuffle", "slice", "sort_array"], _array_itself),
    "array_sort": _array_itself,
    "arrays_zip": _arrays_zip,
    "filter": _lambda_over_elements(_array_itself),
    **dict.fromkeys(["array_append", "array_insert", "array_prepend", "array_remove"], _with_element),
    **dict.fromkeys(["array_except", "array_intersect", "array_union", "map_concat"], _same_sets),
    **dict.fromkeys(["array_max", "array_min", "explode", "explode_outer", "get"], _element),
    **dict.fromkeys(["element_at", "try_element_at"], _element_at),
    **dict.fromkeys(
        ["array_agg", "collect_list", "collect_set", "array_repeat"], lambda call: c.array_of(call.type(0))
    ),
    "flatten": lambda call: c.array_of(c.inner(_element(call), _ARRAY)),
    "reverse": _reverse,
    "sequence": _sequence,
    "transform": _transform,
    **dict.fromkeys(["aggregate", "reduce"], _reduce),
    "zip_with": _zip_with,
    "transform_keys": _transform_keys,
    "transform_values": _transform_values,
    "map_zip_with": _map_zip_with,
    "map_filter": _map_filter,
    "map_keys": lambda call: c.array_of(_map_sides(call)[0]),
    "map_values": lambda call: c.array_of(_map_sides(call)[1]),
    "map_entries": _map_entries,
    "map_from_arrays": _map_from_arrays,
    "exists": _lambda_over_elements(lambda _: c.BOOLEAN),
    "forall": _lambda_over_elements(lambda _: c.BOOLEAN),
}
"""The functions of nested types, by name."""

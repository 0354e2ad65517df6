"""Kernels: their functions do what those of generated classes do, and so do whole bodies."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest

from millstream.expressions.functions.function import ANY, Function
from millstream.expressions.functions.registry import FUNCTIONS, KERNELS
from millstream.expressions.tree import BOOL, FLOAT64, INT64, Type
from millstream.udas.body import Body
from millstream.udas.columns import Numbers, dtype
from millstream.udas.generated.compiled import compile_aggregate
from millstream.udas.kernels import kernel as kernels
from millstream.udas.kernels.kernel import _functions, kernel_of
from tests.aggregates.test_laws import same
from tests.udas import paper
from tests.udas.making import compiled

WHOLE = [None, 0, 1, -1, 2, -3, 7, 10**6, 2**31 - 1, -(2**31), 2**62, -(2**62), 2**63 - 1, -(2**63), 3037000500]
FRACTIONS = [None, 0.0, -0.0, 1.0, -1.5, 0.1, 3e9, -1e19, 1e300, -1e-300, 2.5, math.inf, -math.inf, math.nan]
TRUTHS = [None, True, False]
SIZES = {"float_to_int": [8, 32, 64], "int_to_int": [8, 16, 32, 64]}


def kinds(function: Function) -> list[list[list[Any]]]:
    """The values that each argument can have, for each type that the function works on."""
    if function.name in SIZES:
        return [[values_of(function.arguments[0]), SIZES[function.name]]]
    if ANY in function.arguments:
        of = [INT64] if function.name == "to_float" else [INT64, FLOAT64]
        return [[values_of(type_)] * len(function.arguments) for type_ in of]
    return [[values_of(type_) for type_ in function.arguments]]


def values_of(type_: Type) -> list[Any]:
    if type_ == BOOL:
        return TRUTHS
    if type_.is_float:
        return FRACTIONS
    bound = {"int8": 2**7, "int16": 2**15, "int32": 2**31, "date": 2**31}.get(type_.name, 2**63)
    return [v for v in [*WHOLE, bound - 1, -bound] if v is None or -bound <= v < bound]


def given(value: Any, values: list[Any]) -> tuple[Any, bool]:
    """A value, and whether it is NULL, whose value is then any of its type."""
    return (type(values[1])(0), True) if value is None else (value, False)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")  # of numpy outside of kernels, on the way to inf
@pytest.mark.parametrize("name", sorted(name for name, function in FUNCTIONS.items() if function.kernel is not None))
def test_a_function_of_kernels_is_the_one_of_bodies(name: str) -> None:
    function = FUNCTIONS[name]
    kernel, compiled_by_numba = KERNELS[function.word], _functions()[function.word]
    for choices in kinds(function):
        for row in itertools.product(*choices):
            expected = function.python(*row)
            assert not function.strict or None not in row or expected is None
            for form in (kernel, compiled_by_numba):
                value, null = form(*(part for v, of in zip(row, choices, strict=True) for part in given(v, of)))
                found = None if null else value
                assert same(found, expected), (row, form)
                assert found is None or isinstance(found, bool | np.bool_) == isinstance(expected, bool)


# -- bodies ------------------------------------------------------------------------------------------------


def one(kind: str, chance: random.Random) -> Any:
    if chance.random() < 0.15:
        return None
    if kind == "bool":
        return chance.random() < 0.5
    if kind.startswith("float"):
        return float(np.float32(chance.choice([0.5, -2.0, 3.25, 1e10, 0.0, chance.randrange(-50, 50)])))
    if kind in {"int64", "timestamp"}:
        return chance.choice([chance.randrange(-50, 50), 2**40, -(2**40)])
    return chance.randrange(-100, 100)


def columns(body: Body, rows: list[tuple[Any, ...]]) -> list[Numbers]:
    found = []
    for i, field in enumerate(body.parameters):
        values = [row[i] for row in rows]
        filled = np.array([0 if v is None else v for v in values], dtype=dtype(field.type))
        found.append(Numbers(filled, np.array([v is None for v in values], dtype=np.bool_)))
    return found


@pytest.fixture(params=["as it is", "compiled"], autouse=True)
def worth(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "WORTH", -1 if request.param == "compiled" else 10**9)


def check(body: Body, chance: random.Random) -> None:
    """A kernel folds as the class of Python does, in order or as tuples come."""
    kernel = kernel_of(body)
    assert kernel is not None
    rows = [tuple(one(p.type.name, chance) for p in body.parameters) for _ in range(chance.randrange(0, 12))]
    cut = chance.randrange(len(rows) + 1)
    groups = np.array([0] * cut + [1] * (len(rows) - cut), dtype=np.int64)
    by_group = kernel.fold(np.array([0, cut]), np.array([cut, len(rows)]), columns(body, rows))
    for has, results in (by_group, kernel.scatter(groups, 2, columns(body, rows))):
        compare(body, rows, cut, has, results)


def compare(body: Body, rows: list[tuple[Any, ...]], cut: int, has: Any, results: list[Numbers]) -> None:
    made = compile_aggregate(body)
    for group, tuples in enumerate((rows[:cut], rows[cut:])):
        state, last = made.new(), []
        for number, row in enumerate(tuples):
            if body.window:
                state.enter(row, number)  # type: ignore[attr-defined]
            last = state.add(*row)
        expected = state.terminate() if body.blocking else last
        found = [tuple(None if r.nulls[group] else r.values[group] for r in results)] if has[group] else []
        assert same([list(r) for r in found], [list(r) for r in expected]), (rows, cut)


TEXTS = [getattr(paper, name) for name in ("AVERAGE", "DECAYED", "CUMULATIVE", "WINDOW_AVERAGE", "ACTIVE_AVERAGE")]


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS)
def test_the_averages_of_the_paper(text: str) -> None:
    for seed in range(20):
        check(compiled(text).body, random.Random(seed))


def expression(chance: random.Random, names: list[str], depth: int = 3) -> str:
    """Something that is a number."""
    if depth == 0 or chance.random() < 0.2:
        return chance.choice([*names, *names, "1", "0", "2.5e0", "-7", "CAST(NULL AS INT)"])
    one, other = (expression(chance, names, depth - 1) for _ in range(2))
    forms = ["{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "coalesce({0}, {1})", "greatest({0}, {1})", "abs({0})"]
    forms += ["least({0}, {1})", "nullif({0}, {1})", "CASE WHEN {2} THEN {0} ELSE {1} END", "floor({0})", "-({0})"]
    return f"({chance.choice(forms).format(one, other, condition(chance, names, depth - 1))})"


def condition(chance: random.Random, names: list[str], depth: int) -> str:
    one, other = (expression(chance, names, max(depth - 1, 0)) for _ in range(2))
    plain = chance.choice(["{} < {}", "{} = {}", "{} >= {}", "{} <> {}", "{} IS NULL OR {} > 1", "NOT ({} < {})"])
    return plain.format(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_bodies(seed: int) -> None:
    chance = random.Random(seed)
    kinds = chance.choices(["INT", "BIGINT", "DOUBLE", "FLOAT", "SMALLINT"], k=5)
    seen, held = ["p0", "p1"], ["p0", "p1", "c0", "c1"]
    sets = ", ".join(f"c{i} = CAST({expression(chance, held)} AS {kinds[2 + i]})" for i in range(2))
    where = f"WHERE {condition(chance, held, 2)}" if chance.random() < 0.5 else ""
    first = ", ".join(f"CAST({expression(chance, seen)} AS {kinds[2 + i]})" for i in range(2))
    of = expression(chance, ["c0", "c1"])
    answer = f"INSERT INTO RETURN SELECT CAST({of} AS {kinds[4]}) FROM s {where if not seed % 3 else ''};"
    text = f"""CREATE AGGREGATE f (p0 {kinds[0]}, p1 {kinds[1]}) : (r {kinds[4]}) {{
        TABLE s (c0 {kinds[2]}, c1 {kinds[3]});
        INITIALIZE: {{ INSERT INTO s VALUES ({first}); }}
        ITERATE: {{ UPDATE s SET {sets} {where}; {answer if seed % 2 else ""} }}
        TERMINATE: {{ {answer if not seed % 2 else ""} }} }}"""
    text = text if seed % 3 or seed % 2 else text.replace(where, "")  # TERMINATE has no parameters of its own
    body = compiled(text).body
    for again in range(30):
        check(body, random.Random(again))


def test_what_cannot_be_a_kernel() -> None:
    for text in (paper.WINDOW_MAX, paper.ALARM, paper.FREQUENT, paper.GROUPING):
        assert kernel_of(compiled(text).body) is None

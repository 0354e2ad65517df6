"""What aggregates say of themselves beside their names: states are told apart by it."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.registry import BUILT_IN, find
from millstream.aggregates.tally_with_constant import TallyWithConstant
from millstream.structure import from_json
from tests.drawing import drawn

TYPES = (pa.int64(), pa.float64(), pa.string(), pa.bool_())


def made(cls: type[Aggregate], types: list[pa.DataType], *constant: Any) -> Aggregate | None:
    try:
        return cls(types, *constant)
    except (TypeError, ValueError):
        return None


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda cls: cls.name)
def test_without_constants_there_are_no_options(cls: type[Aggregate]) -> None:
    found = [a for type_ in TYPES if (a := made(cls, [type_] * cls.arity)) is not None]
    assert found
    for aggregate in found:
        fixed = getattr(aggregate, "constant", None)
        assert aggregate.options == ((fixed,) if isinstance(aggregate, TallyWithConstant) else ())
        assert aggregate.definition is None
        assert aggregate.format >= 1


@drawn(60)
@given(one=st.floats(0, 1) | st.text(max_size=3), other=st.floats(0, 1) | st.text(max_size=3))
def test_other_constants_are_other_options(one: float | str, other: float | str) -> None:
    name, type_ = ("quantile", pa.float64()) if isinstance(one, float) else ("string_agg", pa.string())
    kind = find(name)
    assert kind is not None
    first, second = made(kind, [type_], one), made(kind, [type_], other)
    assert first is not None
    assert from_json(json.loads(json.dumps(first.options))) == first.options
    if second is not None:
        assert (first.options == second.options) == (one == other)

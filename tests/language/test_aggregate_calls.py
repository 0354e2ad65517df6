"""Every aggregate can be called by every name it has, in brackets and with OVER."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.aggregates import registry
from millstream.aggregates.tally_with_constant import TallyWithConstant
from millstream.catalog.select import AggregateCall, Select
from millstream.errors import TypeMismatch
from millstream.language.binder import bind
from millstream.language.bound import Rows
from millstream.language.parser import parse
from tests.aggregates.arguments import bindings
from tests.language.auctions import catalog

NAMES = sorted({*registry.names(), *registry.ALIASES})
CONSTANTS = {"string_agg": "seller_id, ';'", "quantile": "price, 0.9"}
COLUMNS = {pa.float32(): "price", pa.int32(): "item_id", pa.bool_(): "price > 5", pa.string(): "seller_id"}
WINDOWS = ("[RANGE 1 HOUR]", "[RANGE 10 ROWS]", "OVER (ROWS 5 PRECEDING)")


def select(text: str) -> Select:
    bound = bind(parse(text)[0], catalog())
    assert isinstance(bound, Rows)
    return bound.select


def call(text: str) -> AggregateCall:
    made = select(f"SELECT {text} AS x FROM open_auction")
    (found,) = (
        made.window_aggregate.calls
        if made.window_aggregate
        else [c.call for f in made.over_aggregates for c in f.calls]
    )
    assert made.schema.names == ("x",)
    return found


def arguments(name: str) -> str:
    meant = registry.ALIASES.get(name, name)
    found = registry.find(meant)
    assert found is not None
    if meant in CONSTANTS:
        return CONSTANTS[meant]
    taken = bindings(found)
    return ", ".join(next([COLUMNS[kind]] * found.arity for kind in COLUMNS if (kind,) * found.arity in taken))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_known(name: str, window: str) -> None:
    for written in (name, name.upper()):
        found = call(f"{written}({arguments(name)}) {window}")
        assert type(found.aggregate) is registry.find(name)
        assert found.condition is None
        assert call(f"{written}({arguments(name)}) FILTER (WHERE item_id > 5) {window}").condition is not None


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", [n for n in NAMES if registry.ALIASES.get(n, n) in registry.DISTINCT])
def test_distinct(name: str, window: str) -> None:
    found = call(f"{name}(DISTINCT {arguments(name)}) {window}")
    assert type(found.aggregate) is registry.find(name, distinct=True)
    assert len(found.arguments) == 1


@pytest.mark.parametrize("name", [n for n in NAMES if registry.ALIASES.get(n, n) in CONSTANTS])
def test_a_constant_goes_to_the_aggregate(name: str) -> None:
    found = call(f"{name}({arguments(name)}) [RANGE 1 HOUR]")
    assert isinstance(found.aggregate, TallyWithConstant)
    assert found.aggregate.constant in {0.9, ";"}
    assert len(found.arguments) == 1
    assert len(found.aggregate.arguments) == 1


def test_within_group_is_the_first_argument() -> None:
    found = call("percentile_cont(0.9) WITHIN GROUP (ORDER BY item_id DESC) [RANGE 1 HOUR]")
    assert isinstance(found.aggregate, TallyWithConstant)
    assert found.aggregate.constant == 0.1
    assert found.aggregate.arguments == (pa.int32(),)


def test_a_separator_may_be_left_out() -> None:
    found = call("listagg(seller_id) [RANGE 1 HOUR]")
    assert isinstance(found.aggregate, TallyWithConstant)
    assert found.aggregate.constant is None


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"count_star"}))
def test_lists_are_refused(name: str) -> None:
    lists = ["array(1)" if argument not in {"0.9", "';'"} else argument for argument in arguments(name).split(", ")]
    with pytest.raises(TypeMismatch):
        call(f"{name}({', '.join(lists[:2])}) [RANGE 1 HOUR]")

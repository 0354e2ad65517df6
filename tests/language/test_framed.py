"""SELECTs with OVER: which steps they become, and what passes from step to step."""

from __future__ import annotations

from millstream.catalog.select import OverAggregateSpec
from millstream.expressions.words import words
from millstream.windows.over_range import OverRange
from millstream.windows.over_rows import OverRows
from tests.language.test_aggregate_calls import select

MINUTE = 60_000_000


def shape(framed: OverAggregateSpec) -> tuple[list[str], list[str], tuple[str, ...]]:
    return [k.name for k in framed.keys], [c.call.name for c in framed.calls], framed.carried


def test_one_step_per_partition() -> None:
    made = select(
        "SELECT price - avg(price) OVER (PARTITION BY seller_id ROWS 5 PRECEDING) AS a,"
        " max(price) OVER (RANGE 1 MINUTE PRECEDING) AS b,"
        " sum(item_id) OVER (PARTITION BY seller_id RANGE 1 MINUTE PRECEDING) AS c,"
        " count(*) OVER (PARTITION BY item_id, price > 5 ORDER BY start_time) AS d FROM open_auction AS o"
    )
    first, second, third = made.over_aggregates
    assert shape(first) == (["__p0"], ["__r1", "__r3"], ("item_id", "price", "start_time"))
    assert shape(second) == ([], ["__r2"], ("item_id", "price", "start_time", "__r1", "__r3"))
    assert shape(third) == (["__p1", "__p2"], ["__r4"], ("price", "__r1", "__r3", "__r2"))
    assert {f.time for f in made.over_aggregates} == {"start_time"}
    assert [c.window for f in made.over_aggregates for c in f.calls] == [
        OverRows(5),
        OverRange(MINUTE),
        OverRange(MINUTE),
        OverRange(None),
    ]


def test_equal_calls_are_one() -> None:
    made = select(
        "SELECT max(price) OVER (PARTITION BY seller_id ROWS 5 PRECEDING) AS a,"
        " max(price) OVER (PARTITION BY SELLER_ID ORDER BY start_time ROWS BETWEEN 5 PRECEDING AND CURRENT ROW) AS b,"
        " max(price) OVER (PARTITION BY seller_id ROWS 6 PRECEDING) AS c,"
        " max(price) FILTER (WHERE price > 5) OVER (PARTITION BY seller_id ROWS 5 PRECEDING) AS d FROM open_auction"
    )
    (framed,) = made.over_aggregates
    assert [c.call.name for c in framed.calls] == ["__r1", "__r2", "__r3"]
    assert [i.expression.name for i in made.items] == ["__r1", "__r1", "__r2", "__r3"]


def test_the_time_stamp_stays_if_it_is_selected() -> None:
    calls = "max(price) OVER (ROWS 5 PRECEDING) AS m"
    assert select(f"SELECT {calls} FROM open_auction").time is None
    assert select(f"SELECT start_time AS t, {calls} FROM open_auction").time == "t"
    assert select(f"SELECT *, {calls} FROM open_auction").time == "start_time"
    assert select(f"SELECT date_trunc('hour', start_time) AS t, {calls} FROM open_auction").time is None


def test_a_latent_stream_counts_as_tuples_arrive() -> None:
    (framed,) = select("SELECT max(price) OVER (ROWS 5 PRECEDING) AS m FROM bid").over_aggregates
    assert framed.time is None
    assert framed.calls[0].window == OverRows(5, order="row")


def test_a_table_is_ordered_by_what_was_named() -> None:
    made = select(
        "SELECT sold AS t, max(price) OVER (ORDER BY sold ASC ROWS 5 PRECEDING) AS m FROM past ORDER BY price"
    )
    assert made.bounded
    assert made.time == "t"
    assert shape(made.over_aggregates[0]) == ([], ["__r1"], ("price", "sold"))


def test_words_of_frames_are_also_names_of_columns() -> None:
    made = select(
        "SELECT max(x.range) OVER (PARTITION BY slide, rows + 1 ROWS 5 PRECEDING) AS m"
        " FROM (SELECT price AS range, item_id AS slide, item_id AS rows, start_time FROM open_auction) AS x"
    )
    assert [words(k.expression) for k in made.over_aggregates[0].keys] == ["slide", "rows + 1"]


def test_an_alias_further_left_may_hold_an_answer() -> None:
    made = select("SELECT max(price) OVER (ROWS 5 PRECEDING) AS m, m * 2 AS twice FROM open_auction")
    assert words(made.items[1].expression) == "__r1 * 2"


def test_a_column_without_a_name_is_called_as_it_was_written() -> None:
    made = select("SELECT max(price) OVER (ROWS 5 PRECEDING), 1 + count(*) OVER (ROWS 5 PRECEDING) FROM open_auction")
    assert made.schema.names == ("max(price)", "1 + count(*) OVER (ROWS 5 PRECEDING)")

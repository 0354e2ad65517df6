"""Which bodies only add up, and that those which do are sums."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from millstream.aggregates.evaluation import over_panes
from millstream.udas.choose_form import sql_aggregate
from millstream.udas.kernels.aggregate import KernelAggregate, KernelParts
from millstream.udas.kernels.linear import linear
from millstream.udas.kernels.linear_aggregate import LinearAggregate
from millstream.udas.sql_aggregate import SqlAggregate, Versions
from tests.operators import by_hand
from tests.udas import paper
from tests.udas.making import compiled

WEIGHTED = """
CREATE AGGREGATE weighted (x INT, w INT) : (mean DOUBLE, n INT, version INT) {
  TABLE state (total BIGINT, weight BIGINT, n INT) AS VALUES (0, 0, 0);
  TABLE known (version INT) AS VALUES (3);
  INITIALIZE: ITERATE: {
    UPDATE state SET total = total + x * w, weight = weight + w WHERE w > 0;
    UPDATE state SET n = 1 + n;
  }
  TERMINATE: { INSERT INTO RETURN SELECT total / weight, n, version FROM state, known WHERE n > 1; }
}"""


def made(text: str) -> SqlAggregate:
    return sql_aggregate(Versions(compiled(text).body, None))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (paper.AVERAGE, LinearAggregate),
        (paper.CUMULATIVE, LinearAggregate),
        (paper.ACTIVE_AVERAGE, LinearAggregate),
        (WEIGHTED, LinearAggregate),
        (by_hand.WINDOW_MEAN, LinearAggregate),
        (by_hand.TOTAL, KernelParts),  # coalesce(s + x, s, x) is not a sum to whoever only reads it
        (by_hand.HIGHEST, KernelParts),
        (paper.WINDOW_AVERAGE, KernelAggregate),  # its sum is an INT: each step rounds
        (paper.DECAYED, KernelAggregate),
        (by_hand.RISING, KernelAggregate),
        (by_hand.TALLY, SqlAggregate),
        (paper.WINDOW_MAX, SqlAggregate),
    ],
)
def test_the_form_is_read_off_the_text(text: str, form: type[SqlAggregate]) -> None:
    aggregate = made(text)
    assert type(aggregate) is form
    assert type(pickle.loads(pickle.dumps(aggregate))) is form
    assert pickle.loads(pickle.dumps(aggregate)) == aggregate


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        ("n = 1 + n", "n = n * 2"),  # no sum
        ("n = 1 + n", "n = n + n"),  # adds what it has
        ("WHERE w > 0", "WHERE weight < 100"),  # depends on what it has
        ("VALUES (0, 0, 0)", "VALUES (0, 0, 7)"),  # does not begin with nothing
        ("SELECT total / weight", "SELECT x + total / weight"),  # speaks of the last tuple
        ("UPDATE state SET n = 1 + n;", "UPDATE state SET n = 1 + n; UPDATE state SET n = n + 1;"),  # twice
    ],
)
def test_what_is_no_sum(found: str, instead: str) -> None:
    assert found in WEIGHTED
    assert linear(compiled(WEIGHTED).body) is not None
    assert linear(compiled(WEIGHTED.replace(found, instead)).body) is None


def test_conditions_constants_and_rows_that_are_left_out() -> None:
    aggregate = made(WEIGHTED)
    columns = [pa.array([1, 2, 30, None, 5], pa.int32()), pa.array([1, 3, -1, 1, 1], pa.int32())]
    state = aggregate.reduce(aggregate.zero(4), np.array([0, 0, 0, 1, 2]), columns, np.arange(5))
    (first, *others) = aggregate.finish(state).to_pylist()
    assert first == [{"mean": 7 / 4, "n": 3, "version": 3}]
    assert others == [[], [], []]
    nulls = aggregate.merge(state, state)
    assert aggregate.finish(nulls).to_pylist()[1] == [{"mean": None, "n": 2, "version": 3}]
    assert over_panes(aggregate) == "running total"
    rest = aggregate.remove(nulls, state)
    assert aggregate.finish(rest).to_pylist() == [first, *others]


def test_a_sum_that_does_not_fit_its_column_is_null() -> None:
    text = WEIGHTED.replace("n INT) AS", "n SMALLINT) AS").replace("n = 1 + n", "n = n + CAST(30000 AS SMALLINT)")
    aggregate = made(text.replace("WHERE n > 1", ""))
    assert type(aggregate) is LinearAggregate
    columns = [pa.array([1, 2, 3], pa.int32()), pa.array([1, 1, 1], pa.int32())]
    answers = aggregate.finish(aggregate.reduce(aggregate.zero(2), np.array([0, 0, 1]), columns, np.arange(3)))
    assert [row["n"] for (row,) in answers.to_pylist()] == [None, 30000]


def test_the_first_tuple_answers_for_itself() -> None:
    aggregate = made(paper.ACTIVE_AVERAGE)
    column = pa.array([3.0, 1.0, 2.0], aggregate.arguments[0])
    answers = aggregate.finish(aggregate.reduce(aggregate.zero(2), np.array([0, 1, 1]), [column], np.arange(3)))
    assert [[row["active_avg"] for row in rows] for rows in answers.to_pylist()] == [[3.0], [1.5]]

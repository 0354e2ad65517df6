"""Conditions on the answers of a stage: the same rows are left, whether the stage checks them or Spark."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.expressions.compile.arrow import NoArrowForm
from millstream.expressions.tree import BOOL, Literal
from millstream.mill import Mill
from millstream.plan import passes
from millstream.plan.passes.push_filters_down import push_filters_down

PREDICATE = "millstream.plan.physical.place_conditions.arrow_condition"

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)

SET_UP = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SLACK 1 SECOND SOURCE 'parquet:s';
CREATE STREAM r (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SLACK 1 SECOND SOURCE 'parquet:r';
CREATE TABLE t (k STRING, name STRING) SOURCE 'parquet:t.parquet';
CREATE AGGREGATE pairs (v INT) : (low INT, high INT) {
  TABLE seen (low INT, high INT) AS VALUES (1000, -1000);
  INITIALIZE: ITERATE: { UPDATE seen SET low = least(low, v), high = greatest(high, v); }
  TERMINATE: { INSERT INTO RETURN SELECT low, high FROM seen; }
};
"""

QUERIES = {
    "having": "SELECT k, count(*) [RANGE 2 SECONDS, WA ts] AS n FROM s GROUP BY k HAVING count(*) > 3 AND k <> 'a'",
    "a condition of Spark's alone": """SELECT k, n FROM (
        SELECT k, count(*) [RANGE 2 SECONDS, WA ts] AS n FROM s GROUP BY k) AS x
        WHERE n > 2 AND reverse(k) <> 'b' AND levenshtein(k, 'c') > 0""",
    "past a join with a table": """SELECT x.w, t.name, x.n FROM (
        SELECT k, window_end AS w, count(*) [RANGE 2 SECONDS, WA ts] AS n FROM s GROUP BY k
        ) AS x LEFT JOIN t ON x.k = t.k WHERE x.n > 3 AND coalesce(t.name, '') <> 'bee'""",
    "answers that are rows": """SELECT x.low, x.high, t.name FROM (
        SELECT k, pairs(v) [RANGE 2 SECONDS, WA ts] FROM s GROUP BY k
        ) AS x JOIN t ON x.k = t.k WHERE x.high - x.low > 50""",
    "over": """SELECT k, v, n FROM (
        SELECT k, v, sum(v) OVER (PARTITION BY k ROWS 3 PRECEDING) AS n FROM s) AS x WHERE n % 3 = 0 AND v > 10""",
    "a join": """SELECT k, v, u FROM (
        SELECT s.k, s.v, r.v AS u FROM s JOIN r ON s.k = r.k AND r.ts BETWEEN s.ts AND s.ts + INTERVAL 1 SECOND
        ) AS x WHERE v < u OR k = 'a'""",
    "between two stages": """SELECT sum(n) [RANGE 10 SECONDS, WA w] AS total, count(*) AS groups FROM (
        SELECT k, window_end AS w, count(*) [RANGE 1 SECOND, WA ts] AS n FROM s GROUP BY k) AS x WHERE n > 1""",
    "nothing left": """SELECT sum(n) [RANGE 10 SECONDS, WA w] AS total FROM (
        SELECT k, window_end AS w, count(*) [RANGE 1 SECOND, WA ts] AS n FROM s GROUP BY k) AS x WHERE n > 1000""",
}


def feed(folder: Path) -> None:
    chance = random.Random(3)
    types = {"ts": pa.timestamp("us", "UTC"), "k": pa.string(), "v": pa.int32()}
    for name in "sr":
        (folder / name).mkdir()
        for file in range(2):
            rows = [
                {
                    "ts": BEGIN + timedelta(milliseconds=100 * number),
                    "k": chance.choice([None, *"abc"]),
                    "v": chance.choice([None, *range(100)]),
                }
                for number in range(200 * file, 200 * (file + 1))
            ]
            pq.write_table(pa.Table.from_pylist(rows, pa.schema(types)), folder / name / f"{file}.parquet")
    pq.write_table(pa.table({"k": ["a", "b"], "name": ["ay", "bee"]}), folder / "t.parquet")


@pytest.mark.spark
def test_the_same_rows_whoever_checks(mill: Mill, tmp_path: Path) -> None:
    feed(tmp_path)
    mill.execute(SET_UP)
    without = tuple(step for step in passes.PASSES if step is not push_filters_down)
    for number, query in enumerate(QUERIES.values()):
        mill.execute(f"CREATE QUERY by_stage_{number} AS {query}")
        with patch.object(passes, "PASSES", without), patch(PREDICATE, side_effect=NoArrowForm(Literal(True, BOOL))):
            mill.execute(f"CREATE QUERY by_spark_{number} AS {query}")
    mill.wait()
    for number, name in enumerate(QUERIES):
        found, wanted = (rows(mill, f"by_{who}_{number}") for who in ("stage", "spark"))
        assert found == wanted, name
        assert bool(found) is (name != "nothing left"), name


@pytest.mark.spark
def test_a_whole_table_without_rows_has_one_answer_that_may_be_left_out(mill: Mill, tmp_path: Path) -> None:
    feed(tmp_path)
    mill.execute(SET_UP)
    counted = "SELECT count(*) AS n FROM t WHERE k = 'z' HAVING count(*) {}"
    assert stored(mill, counted.format("< 1")) == [{"n": 0}]
    assert stored(mill, counted.format("> 0")) == []


def rows(mill: Mill, query: str) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in mill.query(query).to_arrow().to_pylist())


def stored(mill: Mill, select: str) -> list[dict[str, object]]:
    table = mill.execute(select)[-1].table
    assert table is not None
    return table.to_pylist()

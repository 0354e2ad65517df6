"""The law of stated schemas: the columns that a step of a plan states are those of the frame that Spark gets for it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from millstream.catalog.catalog import Catalog
from millstream.catalog.schema import Schema, sql_type, type_name
from millstream.connectors.places.query_place import QueryPlace
from millstream.language.binder import bind
from millstream.language.bound import Rows, Start
from millstream.language.parser import parse
from millstream.language.trial.dry_run import dry_run
from millstream.mill import Mill
from millstream.plan.algebra import Node
from millstream.plan.build import build
from millstream.plan.passes import apply_passes
from millstream.plan.physical import physical
from millstream.plan.physical.facts import Facts
from millstream.spark.host import Host
from millstream.spark.lower.lowering import lower
from millstream.spark.stage.marks import HIDDEN
from tests import golden
from tests.drawing import rounds
from tests.language.auctions import catalog

SET_UP = """
CREATE STREAM s (ts TIMESTAMP, k STRING, b TINYINT, h SMALLINT, i INT, l BIGINT, f REAL, d DOUBLE, p DECIMAL(10, 2),
    day DATE, yes BOOLEAN, many ARRAY<INT>, box STRUCT<w: INT, h: INT>) ORDER BY ts SOURCE 'parquet:s';
CREATE STREAM r (ts TIMESTAMP, k STRING, u INT) ORDER BY ts SOURCE 'json:r';
CREATE TABLE t (k STRING, name STRING, rank INT) SOURCE 'parquet:t';
CREATE TABLE past (ts TIMESTAMP, k STRING, i INT, p DECIMAL(10, 2)) SOURCE 'parquet:past';
CREATE AGGREGATE pairs (v INT) : (low INT, high INT) {
  TABLE seen (low INT, high INT) AS VALUES (1000, -1000);
  INITIALIZE: ITERATE: { UPDATE seen SET low = least(low, v), high = greatest(high, v); }
  TERMINATE: { INSERT INTO RETURN SELECT low, high FROM seen; }
};
"""
VALUES = (
    *("k", "b", "h", "i", "l", "f", "d", "p", "day", "yes", "ts", "b + h", "i * 2", "i / 2", "l + p", "p * p", "f + i"),
    *("i DIV 3", "pmod(l, 7)", "upper(k)", "length(k)", "day + INTERVAL 1 DAY", "CAST(d AS INT)", "coalesce(b, l)"),
    *(
        "CASE WHEN yes THEN i ELSE f END",
        "many[0]",
        "box.w",
        "greatest(h, i)",
        "date_trunc('hour', ts)",
        "k || i",
        "-p",
    ),
)
ANY = ("count", "min", "max", "first", "last", "mode", "count(DISTINCT", "min_by", "array_agg")
NUMBERS = ("sum", "avg", "stddev", "variance", "median")
NUMERIC = ("b", "h", "i", "l", "f", "d", "p", "i * 2", "i / 2", "p * p", "l + b")
WINDOWS = ("[RANGE 1 MINUTE]", "[RANGE 1 HOUR, SLIDE 5 MINUTES]", "[RANGE 10 ROWS]", "[RANGE ALL, SLIDE 1 HOUR]")
FRAMES = ("ROWS 3 PRECEDING", "RANGE 5 MINUTES PRECEDING", "RANGE UNBOUNDED PRECEDING")
JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")


def drawn_select(chance: random.Random) -> str:
    """A SELECT of a kind, with columns and calls that are chosen by lot."""

    def values(count: int) -> str:
        return ", ".join(f"{value} AS v{n}" for n, value in enumerate(chance.sample(VALUES, count)))

    def calls(window: str) -> str:
        made = []
        for _ in range(4):
            name, value = chance.choice(ANY), chance.choice(VALUES)
            if chance.random() < 0.5:
                name, value = chance.choice(NUMBERS), chance.choice(NUMERIC)
            second = ", i" if name == "min_by" else ""
            made.append(f"{name}{' ' if '(' in name else '('}{value}{second}) {window}")
        return ", ".join(f"{call} AS c{n}" for n, call in enumerate(made))

    key = chance.choice(("k", "i", "p", "day", "upper(k)", "b + h"))
    kind = chance.randrange(7)
    if kind == 0:
        return f"SELECT {values(8)} FROM s WHERE i > 3"
    if kind == 1:
        return f"SELECT {key} AS grouped, {calls(chance.choice(WINDOWS))}, window_end FROM s GROUP BY {key}"
    if kind == 2:
        return f"SELECT {values(4)}, {calls(f'OVER (PARTITION BY {key} {chance.choice(FRAMES)})')} FROM s"
    if kind == 3:
        window = "SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND)"
        return f"SELECT k, {calls('')}, window_start FROM {window} GROUP BY k, window_start, window_end"
    if kind == 4:
        return f"SELECT k, pairs(i) [RANGE 1 MINUTE], {calls('')} FROM s GROUP BY k HAVING count(*) > 1"
    if kind == 5:
        join = chance.choice(JOINS[:2])
        near = "r.ts BETWEEN s.ts AND s.ts + INTERVAL 1 SECOND"
        return f"SELECT s.k, s.p, s.many, s.box, r.u FROM s {join} r ON s.k = r.k AND {near}"
    inner = f"SELECT s.k AS key, t.rank, i, ts FROM s {chance.choice(JOINS[:2])} t ON s.k = t.k"
    return f"SELECT rank, {chance.choice(NUMBERS)}(i) [RANGE 1 MINUTE, WA ts] AS n FROM ({inner}) AS x GROUP BY rank"


@contextmanager
def recorded() -> Iterator[list[tuple[Node, DataFrame]]]:
    """The nodes that are lowered meanwhile, each with its frame."""
    seen: list[tuple[Node, DataFrame]] = []
    known = dict(lower.registry)

    def watched(function: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
        def run(node: Node, *args: Any, **named: Any) -> DataFrame:
            frame = function(node, *args, **named)
            seen.append((node, frame))
            return frame

        return run

    for kind, function in known.items():
        lower.register(kind, watched(function))
    try:
        yield seen
    finally:
        for kind, function in known.items():
            lower.register(kind, function)


def wrong(text: str, known: Catalog, host: Host) -> Iterator[str]:
    """Where the steps of a query state other columns than Spark has."""
    bound = bind(parse(text)[0], known)
    assert isinstance(bound, Rows | Start), text
    plan = apply_passes(build(bound.select if isinstance(bound, Rows) else bound.query), known)
    with recorded() as seen:
        try:
            lower(physical(plan, Facts(tasks=2)), host)
        except AnalysisException as problem:
            yield f"{text}\n  is refused: {str(problem).splitlines()[0]}"
            return
    for node, frame in seen:
        stated, found = spelt(node.schema), spelt(frame)
        # What only Spark can tell is stated by nobody.
        told = [(name, type_ if type_ != "UNKNOWN" else found.get(name)) for name, type_ in stated.items()]
        if told != list(found.items()):
            yield f"{text}\n  {node.label()}\n  states {told}\n  gives  {list(found.items())}"


def spelt(columns: Schema | DataFrame) -> dict[str, str | None]:
    """The names of columns and their types, in Spark's spelling."""
    if isinstance(columns, Schema):
        return {column.name: type_name(column.type).replace("`", "") for column in columns}
    fields = [field for field in columns.schema if field.name not in HIDDEN]
    return {field.name: type_name(sql_type(field.dataType.simpleString())) for field in fields}


@pytest.fixture
def host(mill: Mill, tmp_path: Path) -> Host:
    for name in ("data/open", "data/bids", "data/items", "data/past", "s", "r", "t", "past"):
        (tmp_path / name).mkdir(parents=True)
        pq.write_table(pa.table({"k": ["a"]}), tmp_path / name / "1.parquet")
    mill.spark  # noqa: B018
    (tmp_path / "place").mkdir()
    place = QueryPlace(tmp_path / "place", "q", fresh=True)
    return Host(
        mill.spark,
        tmp_path,
        lambda name: tmp_path / "logs" / name,
        place=place,
        registrations=tmp_path / "registrations",
    )


@pytest.mark.spark
def test_golden_plans(host: Host) -> None:
    cases = golden.read(Path(__file__).with_name("plans.txt"))
    found = [line for case in cases for line in wrong(case.given, catalog(), host)]
    assert not found, "\n".join(found)


@pytest.mark.spark
def test_drawn_queries(host: Host) -> None:
    known = Catalog()
    for statement in parse(SET_UP):
        dry_run(bind(statement, known), known)
    chance = random.Random(5)
    found = [line for _ in range(rounds(240)) for line in wrong(drawn_select(chance), known, host)]
    assert not found, "\n".join(found)

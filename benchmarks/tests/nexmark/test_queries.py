"""The queries q0 to q22 against DuckDB, over generated events that come out of order and in several batches."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.catalog.catalog import Catalog
from millstream.language.binder import bind
from millstream.language.parser import statements
from millstream.language.trial.dry_run import dry_run
from millstream_bench.nexmark import oracles, queries
from millstream_bench.nexmark.folder import write
from millstream_bench.nexmark.settings import Settings

EVENTS = 20_000
RATE = 200
GROUP = 100
"""So many events in a row are shuffled: half a second, and four are allowed."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An auction house of a hundred seconds, around midnight."""
    folder = tmp_path_factory.mktemp("nexmark") / "it's"
    midnight = datetime(2015, 7, 15, 23, 59, 7, tzinfo=UTC)
    write(folder, events=EVENTS, files=2, settings=Settings(rate=RATE, group=GROUP, base_time=midnight))
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", [name for name in queries.NAMES if name != "q12"])
def test_answers_are_those_of_duckdb(house: Path, results: Path, name: str) -> None:
    verdict = oracles.check(name, house, results, files_per_batch=1)
    assert verdict.rows
    assert verdict.holds, verdict


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_arrival_is_counted_by_the_clock_on_the_wall(house: Path, tmp_path: Path) -> None:
    begin = datetime.now(UTC)
    verdict = oracles.check("q12", house, tmp_path, files_per_batch=1)
    end = datetime.now(UTC)
    assert verdict.rows
    assert verdict.holds, verdict
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        told = "SELECT bidder, starttime::TIMESTAMPTZ, endtime::TIMESTAMPTZ"
        answers = db.execute(f"{told} FROM '{tmp_path}/q12/*.parquet'").fetchall()
    ten = timedelta(seconds=10)
    for _, first, last in answers:
        assert last - first == ten
        assert first.timestamp() % 10 == 0
        assert begin - ten < first <= end
    assert len({(bidder, first) for bidder, first, _ in answers}) == len(answers)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_other_kinds_of_files_do_as_well(tmp_path: Path, kind: str) -> None:
    write(tmp_path / kind, events=2_000, files=2, format=kind, settings=Settings(rate=RATE, group=GROUP))
    verdict = oracles.check("q13", tmp_path / kind, tmp_path, kind=kind)
    assert verdict.rows
    assert verdict.holds, verdict


def test_wrong_answers_are_found(house: Path, tmp_path: Path) -> None:
    with oracles.events(house) as db:
        right = db.sql(oracles.sql("q2")).to_arrow_table()
    assert right.num_rows > 10
    tries = {
        "right": right,
        "short": right.slice(1),
        "twice": pa.concat_tables([right, right.slice(0, 1)]),
        "other": right.set_column(1, "price", pa.array(range(right.num_rows))),
    }
    found = {}
    for name, table in tries.items():
        (tmp_path / name).mkdir()
        pq.write_table(table, tmp_path / name / "part.parquet")
        verdict = oracles.judge("q2", house, tmp_path / name)
        found[name] = (verdict.holds, len(verdict.missing), len(verdict.surplus))
    shown = oracles.SHOWN
    assert found == {
        "right": (True, 0, 0),
        "short": (False, 1, 0),
        "twice": (False, 0, 1),
        "other": (False, shown, shown),
    }


@pytest.mark.parametrize("name", queries.NAMES)
def test_every_query_binds_without_a_warning(name: str) -> None:
    catalog, warnings = Catalog(), []
    for statement in statements(queries.text(name, "data", "csv", f"json:out/{name}", 3)):
        bound = bind(statement, catalog)
        dry_run(bound, catalog)
        warnings += getattr(bound, "warnings", ())
    assert warnings == []


def test_an_unknown_query() -> None:
    with pytest.raises(ValueError, match="there is no query 'q23': there are q0 to q22"):
        queries.text("q23", "data")

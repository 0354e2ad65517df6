"""The NEXMark queries beside other engines: the data, the checks, the report, and the engines themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from millstream.cli.main import main
from millstream.errors import RunError, SettingError
from millstream_bench.flink import environment
from millstream_bench.harness.figures import open_figures
from millstream_bench.nexmark import oracles
from millstream_bench.nexmark.contest import flink_queries, measure, report, spark_queries
from millstream_bench.nexmark.contest.check import CLOSED, check, check_sums
from millstream_bench.nexmark.contest.flink import event_parts
from millstream_bench.nexmark.contest.measure import ENGINES, Plan, chosen_engines, chosen_queries
from millstream_bench.nexmark.folder import KINDS, auctions
from millstream_bench.nexmark.queries import NAMES, streams
from millstream_bench.nexmark.settings import Settings

SMALL = ["--events", "10000", "--rate", "250", "--repeat", "1", "--warm-up", "0", "--json"]
PLAN = Plan(1000, 100, 1, 4, ("spark", "flink"), 2, 1, 0)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return auctions(tmp_path_factory.mktemp("events"), events=10_000, seed=1, settings=Settings(rate=250))


def answer(data: Path, sql: str, rows: Path) -> Path:
    """The rows of a query as Parquet."""
    rows.mkdir()
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        for kind in (*KINDS, "side"):
            db.execute(f"CREATE VIEW {kind} AS SELECT * REPLACE ({_plain(kind)}) FROM '{data}/{kind}/*.parquet'")
        db.execute("CREATE VIEW passed AS SELECT max(dateTime) - INTERVAL 4 SECOND AS latest FROM bid")
        db.execute(f"COPY ({sql}) TO '{rows}/part.parquet'")
    return rows


def _plain(kind: str) -> str:
    return "key AS key" if kind == "side" else "dateTime::TIMESTAMP AS dateTime"


# -- the data --------------------------------------------------------------------------------------------------


def test_csv_files_hold_all_events_dealt_out_in_order(data: Path) -> None:
    folder = event_parts(data, 3)
    assert event_parts(data, 3) == folder
    for kind in KINDS:
        parts = [pl.read_csv(folder / kind / f"part-{n}.csv", has_header=False) for n in range(3)]
        rows = pl.read_parquet(data / kind / "*.parquet")
        assert sum(part.height for part in parts) == rows.height
        time = rows.columns.index("dateTime")
        for number, part in enumerate(parts):
            times = rows["dateTime"].dt.epoch("ms").gather_every(3, number)
            assert part.to_series(time).to_list() == times.to_list()
            assert part.to_series(0).to_list() == rows.to_series(0).gather_every(3, number).to_list()


def test_all_streams_take_so_many_files_at_once(data: Path) -> None:
    text = streams(str(data), files_per_batch=3)
    assert text.count("OPTIONS (max_files_per_batch = 3)") == text.count("CREATE STREAM") == 4


# -- the queries -----------------------------------------------------------------------------------------------


def test_every_engine_runs_the_query_or_says_why_not() -> None:
    for name in ("spark", "flink"):
        kind = ENGINES[name]
        assert kind.queries | set(kind.left_out) == set(NAMES)
        assert not kind.queries & set(kind.left_out)
        assert kind.queries >= {"q5", "q7", "q8", "q11", "q15", "q16", "q17"}


@pytest.mark.parametrize("name", sorted(flink_queries.QUERIES))
def test_flink_has_the_columns_of_the_oracle(name: str, data: Path, tmp_path: Path) -> None:
    rows = answer(data, oracles.sql(name), tmp_path / "rows")
    columns = flink_queries.QUERIES[name].columns.replace("DECIMAL(23, 3)", "DECIMAL").split(", ")
    assert [column.split()[0].strip("`") for column in columns] == list(pl.read_parquet_schema(rows / "part.parquet"))


def test_queries_whose_rows_change_have_keys_among_their_columns() -> None:
    changing = {name: query.keys for name, query in spark_queries.QUERIES.items() if query.mode == "update"}
    assert set(changing) == {"q9", "q15", "q16", "q17", "q18"}
    for name, keys in changing.items():
        assert all(key in flink_queries.QUERIES[name].columns for key in keys)


# -- the checks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["q5", "q7", "q8", "q11", "q15", "q16", "q17", "q10"])
def test_right_rows_pass_and_a_missing_one_does_not(name: str, data: Path, tmp_path: Path) -> None:
    rows = answer(data, oracles.sql(name), tmp_path / "rows")
    count = pl.read_parquet(rows / "part.parquet").height
    assert check(name, "flink", data, rows) == count > 0
    pl.read_parquet(rows / "part.parquet").slice(1).write_parquet(rows / "part.parquet")
    with pytest.raises(RunError, match=f"flink is wrong on {name}\n  missing: "):
        check(name, "flink", data, rows)


@pytest.mark.parametrize("name", sorted(CLOSED))
def test_spark_need_not_answer_open_windows_and_must_not(name: str, data: Path, tmp_path: Path) -> None:
    everything = answer(data, oracles.sql(name), tmp_path / "everything")
    closed = answer(data, CLOSED[name], tmp_path / "closed")
    assert 0 < check(name, "spark", data, closed) < check(name, "flink", data, everything)
    with pytest.raises(RunError, match=f"spark is wrong on {name}\n  too many: "):
        check(name, "spark", data, everything)


def test_rows_of_flink_are_text_without_names(data: Path, tmp_path: Path) -> None:
    rows = answer(data, oracles.sql("q11"), tmp_path / "rows")
    (tmp_path / "csv" / "deep").mkdir(parents=True)
    frame = pl.read_parquet(rows / "part.parquet")
    frame.write_csv(tmp_path / "csv" / "deep" / "part-0", include_header=False, datetime_format="%F %H:%M:%S%.3f")
    assert check("q11", "flink", data, tmp_path / "csv") == frame.height
    with (tmp_path / "csv" / "deep" / "part-1").open("w") as file:
        file.write("1,1,2015-07-15 00:00:00,2015-07-15 00:00:10\n")
    with pytest.raises(RunError, match=r"too many: \(1, 1, "):
        check("q11", "flink", data, tmp_path / "csv")


@pytest.mark.parametrize(
    ("name", "sums"),
    [(name, q.sums) for name, q in flink_queries.QUERIES.items() if q.sums]
    + [(name, q.sums) for name, q in flink_queries.SUITE.items()],
)
def test_sums_stand_for_rows_that_change(name: str, sums: tuple[str, ...], data: Path, tmp_path: Path) -> None:
    rows = answer(data, oracles.sql(name), tmp_path / "rows")
    with duckdb.connect() as db:
        texts = ", ".join(one.replace("`", '"').replace("CHAR_LENGTH", "length") for one in sums)
        values = db.execute(f"SELECT {texts} FROM '{rows}/part.parquet'").fetchone()
    assert values
    found = {one: float(value) for one, value in zip(sums, values, strict=True)}
    assert check_sums(name, "flink", data, found) == found["COUNT(*)"] > 0
    with pytest.raises(RunError, match=f"flink is wrong on {name}: COUNT.* should be"):
        check_sums(name, "flink", data, found | {"COUNT(*)": found["COUNT(*)"] + 1})


# -- the course of a run ---------------------------------------------------------------------------------------


class Fake:
    """Stands for a worker; each run of Spark takes three times as long as one of Millstream."""

    asked: list[tuple[str, str]] = []  # noqa: RUF012

    def __init__(self, workload: str, name: str, setting: Any) -> None:
        self.name = name
        self.peak_bytes = 5 * 2**20

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ready(self) -> None:
        pass

    def forget_peak(self) -> None:
        pass

    def keep(self, query: str, folder: Path) -> dict[str, float]:
        Fake.asked.append((self.name, f"keep {query}"))
        return {"COUNT(*)": 1.0}

    def run_query(self, query: str) -> float:
        Fake.asked.append((self.name, query))
        return {"millstream": 1.0, "spark": 3.0}.get(self.name, 1.5)

    def notes(self) -> dict[str, Any]:
        return {"source": "CSV"} if self.name == "flink" else {}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Instead of measuring, what engines would have been asked."""
    Fake.asked = []
    monkeypatch.setattr(measure, "QueryEngine", Fake)
    monkeypatch.setattr(environment, "installed", Path)
    monkeypatch.setattr("millstream_bench.nexmark.contest.check.check_sums", lambda *_: 7)
    return Fake.asked


def measured(plan: Plan, names: tuple[str, ...], together: bool, file: Path | None, root: Path) -> dict[str, Any]:
    figures = open_figures(file, plan.to_json())
    report.fill(figures, plan, names, together, file, root, lambda _: None)
    return figures


def test_each_query_is_checked_warmed_up_and_timed_in_turns(asked: list[tuple[str, str]], tmp_path: Path) -> None:
    figures = measured(PLAN, ("q5", "q19"), True, None, tmp_path)
    own, spark, flink = "millstream", "spark", "flink"
    before = [(name, what) for name in (own, spark, flink) for what in ("keep q5", "q5")]
    assert asked[:12] == before + [(own, "q5"), (spark, "q5"), (flink, "q5")] * 2
    # q19 is left out for Spark, and only Millstream runs all at once.
    assert asked[12:] == [(n, w) for n in (own, flink) for w in ("keep q19", "q19")] + [
        (own, "q19"),
        (flink, "q19"),
        (own, "q19"),
        (flink, "q19"),
        *[(own, "q5,q19")] * 3,
    ]
    points = figures["points"]
    assert points["nexmark/q5"]["ratios"] == {"millstream/spark": 3.0, "millstream/flink": 1.5}
    assert points["nexmark/q5"]["results"][1] == {
        "engine": "spark",
        "seconds": 3.0,
        "min_s": 3.0,
        "max_s": 3.0,
        "events_per_s": 333,
        "result_rows": 7,
        "peak_rss_mb": 5,
    }
    assert set(points["nexmark/q19"]["left_out"]) == {"spark"}
    assert points["nexmark/all"]["queries"] == ["q5", "q19"]
    assert points["nexmark/notes"] == {"flink": {"source": "CSV"}}


def test_a_run_goes_on_where_it_was_cut_off(asked: list[tuple[str, str]], tmp_path: Path) -> None:
    file = tmp_path / "deep" / "figures.json"
    measured(PLAN, ("q5", "q7"), True, file, tmp_path)
    asked.clear()
    again = measured(PLAN, ("q5", "q7"), True, file, tmp_path)
    assert not asked
    assert again == json.loads(file.read_text())
    measured(PLAN, ("q5", "q7", "q8"), True, file, tmp_path)
    assert {query for _, query in asked} == {"keep q8", "q8", "q5,q7,q8"}
    with pytest.raises(SettingError, match="figures of another run"):
        measured(Plan(2000, 100, 1, 4, (), 1, 0, 0), ("q5",), True, file, tmp_path)


def test_an_engine_without_any_of_the_queries_is_not_started(asked: list[tuple[str, str]], tmp_path: Path) -> None:
    plan = Plan(1000, 100, 1, 4, ("flink-suite",), 1, 0, 0)
    measured(plan, ("q5",), True, None, tmp_path)
    assert {name for name, _ in asked} == {"millstream"}


def test_the_command_tells_a_table_or_json(
    asked: list[tuple[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    arguments = ["--against", "spark", "--queries", "q5,q19", "--events", "1000", "--data", str(tmp_path)]
    assert main(["bench", "nexmark", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if "q5 " in line or "q19 " in line or "all " in line][:3] == [
        ["│", "q5", "│", "1,000", "│", "5", "│", "333", "│", "3.00", "│", "5", "│"],
        ["│", "q19", "│", "1,000", "│", "5", "│", "-", "│", "│", "│"],
        ["│", "all", "│", "1,000", "│", "5", "│", "-", "│", "│", "│"],
    ]
    assert main(["bench", "nexmark", *arguments, "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["query"], line.get("engine")) for line in told] == [
        ("q5", "millstream"),
        ("q5", "spark"),
        ("q5", None),
        ("q19", "millstream"),
        ("q19", None),
        ("all", "millstream"),
    ]
    assert told[2]["paired_ratios"] == {"millstream/spark": 3.0}


def test_a_failure_does_not_hide_what_was_measured_before_it(
    asked: list[tuple[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(query: str, *_: object) -> int:
        if query == "q7":
            raise RunError("q7 went wrong")
        return 7

    monkeypatch.setattr("millstream_bench.nexmark.contest.check.check_sums", fail)
    arguments = ["--queries", "q5,q7", "--events", "1000", "--data", str(tmp_path), "--json"]
    assert main(["bench", "nexmark", *arguments]) == 1
    told = capsys.readouterr()
    assert [json.loads(line)["query"] for line in told.out.splitlines()] == ["q5", "q5"]
    assert "q7 went wrong" in told.err


def test_a_picture_of_the_ratios(
    asked: list[tuple[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
    file = tmp_path / "figures.json"
    measured(PLAN, ("q5", "q19", "q7"), True, file, tmp_path)
    assert main(["bench", "plots", str(file), str(tmp_path / "png")]) == 0
    (drawn,) = map(Path, capsys.readouterr().out.splitlines())
    assert drawn.name == "nexmark.png"
    assert drawn.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--against", "flonk"], "bench nexmark has no engine 'flonk'"),
        (["--queries", "q5,q23"], "bench nexmark has no query 'q23'"),
    ],
)
def test_unknown_names(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "nexmark", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_names_are_taken_once() -> None:
    assert chosen_engines(" Spark,flink,spark,") == ("spark", "flink")
    assert chosen_queries("q7,Q5,q7") == ("q7", "q5")
    assert chosen_queries("all") == NAMES


# -- the engines -----------------------------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.usefixtures("in_this_process")
def test_spark_gives_the_same_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--against", "spark", "--queries", "q5,q17", "--data", str(tmp_path), *SMALL]
    assert main(["bench", "nexmark", *arguments]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rows = {(line["query"], line["engine"]): line.get("result_rows") for line in told if "engine" in line}
    assert rows["q5", "millstream"] > rows["q5", "spark"] > 0
    assert rows["q17", "millstream"] == rows["q17", "spark"] > 0
    assert rows["all", "millstream"] is None


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.skipif(environment.installed() is None, reason="Flink's environment is not there: make bench-flink")
def test_flink_gives_the_same_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--against", "flink", "--queries", "q5,q18", "--data", str(tmp_path), "--no-together"]
    assert main(["bench", "nexmark", *arguments, *SMALL]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rows = {(line["query"], line["engine"]): line["result_rows"] for line in told if "engine" in line}
    assert rows["q5", "millstream"] == rows["q5", "flink"] > 0
    assert rows["q18", "millstream"] == rows["q18", "flink"] > 0
    assert told[-1]["notes"]["flink"]["source_rows_per_s"] > 0

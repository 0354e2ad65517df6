"""Kept streams on Spark: what a source delivers is landed once, and queries read the log as they would the source."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.connectors.tcp.landing_log import LogWriter
from millstream.errors import RunError
from millstream.history import trim
from millstream.mill import Mill, connect
from millstream.mill.stored.definitions import Definitions
from millstream.mill.stored.stored_rows import StoredRows
from millstream.store import versions

pytestmark = pytest.mark.spark

STREAM = """
    CREATE STREAM s (id INT NOT NULL, ts TIMESTAMP NOT NULL, v DOUBLE) ORDER BY ts SLACK 1 SECOND KEEP ALL
    SOURCE 'csv:in';
"""


def put(folder: Path, name: str, *lines: str) -> None:
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text("id,ts,v\n" + "".join(f"{line}\n" for line in lines))
    hidden.rename(folder / f"{name}.csv")


def ids(mill: Mill, name: str) -> list[int]:
    return sorted(mill.query(name).to_arrow()["id"].to_pylist())


def test_a_query_reads_the_log_of_a_kept_stream(mill: Mill, tmp_path: Path) -> None:
    put(tmp_path / "in", "a", "1,2024-01-01T00:00:00,1.5", "x,2024-01-01T00:00:00,1.5", "2,2024-01-01T00:00:01,")
    mill.execute(
        STREAM
        + """
        CREATE QUERY q AS SELECT id, v FROM s;
        CREATE QUERY bad AS SELECT * FROM s.REJECTED;
        CREATE QUERY n AS SELECT window_start, count(*) [RANGE 1 SECOND, WA ts] AS n FROM s;
    """
    )
    mill.wait()
    assert ids(mill, "q") == [1, 2]
    assert mill.query("q").counts.rows_in == 3
    assert mill.query("q").counts.rejected == {"s": 1}
    assert mill.query("bad").to_arrow()["reason"].to_pylist() == ["id: 'x' is not an INT"]
    assert sorted(mill.query("n").to_arrow()["n"].to_pylist()) == [1, 1]


def test_rows_are_landed_once_over_restarts(spark: object, tmp_path: Path) -> None:
    found = []
    for life in range(3):
        put(tmp_path / "in", f"f{life}", *(f"{life * 10 + n},2024-01-01T00:00:0{n},1" for n in range(5)))
        with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]") as mill:
            mill.execute(STREAM + "CREATE QUERY q AS SELECT id FROM s")
            mill.wait()
            found = ids(mill, "q")  # also those of earlier lives
            end = mill.engine.readers.open(mill.catalog.relation("s")).log.index.extent.end
            assert end == 5 * (life + 1)
    assert sorted(found) == [life * 10 + n for life in range(3) for n in range(5)]


ROWS = [f"{n},2024-01-01T00:00:{n:02},{n}" for n in range(10)]


def test_a_select_since_a_moment_answers_at_once(mill: Mill, tmp_path: Path) -> None:
    put(tmp_path / "in", "a", *ROWS, "x,2024-01-01T00:00:00,1.5")
    mill.execute(STREAM)

    def select(text: str) -> list[object]:
        (answer,) = mill.execute(text)
        assert answer.table is not None
        return sorted(answer.table.column(0).to_pylist())

    assert select("SELECT id FROM s SINCE EARLIEST") == list(range(10))
    assert select("SELECT id FROM s SINCE EARLIEST UNTIL NOW") == list(range(10))
    assert select("SELECT id FROM s SINCE '2024-01-01T00:00:04'") == list(range(4, 10))
    assert select("SELECT id FROM s SINCE '2024-01-01T00:00:04' UNTIL TIMESTAMP '2024-01-01 00:00:06'") == [4, 5]
    assert select("SELECT id FROM s SINCE NOW - INTERVAL '1' HOUR") == []
    joined = "s SINCE EARLIEST AS x JOIN s SINCE '2024-01-01T00:00:08' y ON x.id = y.id"
    assert select(f"SELECT x.id FROM {joined}") == [8, 9]
    assert select("SELECT count(*) [RANGE 5 SECONDS, WA ts] AS n FROM s SINCE EARLIEST") == [5, 5]
    assert select("SELECT max(since) FROM (SELECT id AS since FROM s SINCE EARLIEST) AS until") == [9]
    assert select("SELECT id FROM s SINCE EARLIEST ORDER BY id LIMIT 2") == [0, 1]


def test_a_query_starts_where_it_says_and_goes_on(spark: object, tmp_path: Path) -> None:
    starts = {"all": "", "e": "START AT EARLIEST", "n": "START AT NOW", "t": "START AT '2024-01-01T00:00:07'"}
    queries = "".join(f"CREATE QUERY q{name} AS SELECT id FROM s {start};" for name, start in starts.items())
    found: dict[str, list[int]] = {name: [] for name in starts}
    put(tmp_path / "in", "a", *ROWS)
    for life in range(2):
        with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]") as mill:
            mill.execute(STREAM + queries)
            mill.wait()
            for name in starts:
                found[name] = ids(mill, f"q{name}")
        put(tmp_path / "in", f"b{life}", "99,2024-01-01T00:01:00,1", "98,2024-01-01T00:00:01,1")
    everything = [*range(10), 98, 99]
    assert found == {"all": everything, "e": everything, "n": [98, 99], "t": [7, 8, 9, 99]}


def test_a_rename_leaves_queries_where_they_began(live_mill: Mill, tmp_path: Path) -> None:
    put(tmp_path / "in", "a", *ROWS[:4])
    live_mill.execute(STREAM + "CREATE QUERY everything AS SELECT id FROM s; CREATE QUERY halted AS SELECT id FROM s")
    live_mill.query("everything").process_available()
    live_mill.execute("STOP QUERY halted")
    select = "SELECT window_start, count(*) [RANGE 2 SECONDS, WA ts] AS n FROM s START AT NOW"
    live_mill.execute(f"CREATE QUERY since AS {select}")
    put(tmp_path / "in", "b", *ROWS[4:7])
    live_mill.query("since").process_available()
    live_mill.execute("ALTER STREAM s RENAME TO renamed")
    assert "halted" in live_mill.engine.streams.readers.find_reading_positions("renamed"), (
        "what it has still to read is not trimmed"
    )
    put(tmp_path / "in", "c", *ROWS[7:], "10,2024-01-01T00:01:00,1")
    live_mill.query("since").process_available()
    found = live_mill.query("since").to_arrow().sort_by("window_start")
    assert [(start.second, n) for start, n in zip(*found.to_pydict().values(), strict=True)] == [(4, 2), (6, 2), (8, 2)]
    live_mill.execute("START QUERY halted")
    live_mill.query("halted").process_available()
    assert ids(live_mill, "halted") == list(range(11))


def test_windows_that_began_before_their_query_are_not_answered(mill: Mill, tmp_path: Path) -> None:
    """A window that lacks tuples would look like the others; landmark windows count from the start on."""
    put(tmp_path / "in", "a", *ROWS)
    select = "AS SELECT window_start, count(*) [RANGE {}, WA ts] AS n FROM s START AT '2024-01-01T00:00:03';"
    over = "AS SELECT id, count(*) OVER (ORDER BY ts RANGE INTERVAL '2' SECOND PRECEDING) AS n FROM s"
    mill.execute(
        STREAM
        + f"CREATE QUERY five {select.format('5 SECONDS')}"
        + f"CREATE QUERY slid {select.format('2 SECONDS, SLIDE 1 SECOND')}"
        + f"CREATE QUERY ever {select.format('ALL, SLIDE 5 SECONDS')}"
        + f"CREATE QUERY over {over} START AT '2024-01-01T00:00:03';"
    )
    mill.wait()

    def found(name: str) -> list[int]:
        return mill.query(name).to_arrow().sort_by("window_start" if name != "over" else "id")["n"].to_pylist()

    assert found("five") == [5]
    assert found("slid") == [2, 2, 2, 2, 2, 2, 1]
    assert sorted(found("ever")) == [2, 7]
    assert found("over") == [1, 2, 3, 3, 3, 3, 3]


def test_a_log_and_a_checkpoint_of_others_are_refused(spark: object, tmp_path: Path) -> None:
    put(tmp_path / "in", "a", *ROWS)

    def run() -> None:
        with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]") as mill:
            mill.execute(STREAM + "CREATE QUERY q AS SELECT id FROM s")
            mill.wait()

    run()
    folder = tmp_path / "home" / "streams" / "s"
    for part in ("checkpoint", "log"):
        (folder / part).rename(folder / "away")
        with pytest.raises(RunError, match="do not belong together"):
            run()
        shutil.rmtree(folder / part, ignore_errors=True)
        (folder / "away").rename(folder / part)
    run()


def test_another_declaration_than_that_of_the_history_is_refused(spark: object, tmp_path: Path) -> None:
    put(tmp_path / "in", "a", *ROWS)
    changed = STREAM.replace("v DOUBLE", "v FLOAT")
    with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]") as mill:
        mill.execute(STREAM)
    with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]") as mill:
        with pytest.raises(RunError, match="the history of s was kept with columns"):
            mill.execute(changed)
        assert mill.catalog.relation("s") is None
        mill.execute(STREAM + "DROP STREAM s;" + changed)


def test_a_table_is_made_of_a_part_of_history_or_not_at_all(
    spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = "CREATE TABLE t AS SELECT id FROM s SINCE '2024-01-01T00:00:03' UNTIL '2024-01-01T00:00:07';"
    put(tmp_path / "in", "a", *ROWS)

    class Killed(BaseException):
        pass

    def dies(*_: object, **__: object) -> None:
        raise Killed

    def stays(*_: object, **__: object) -> None:
        pass

    # Killed while the rows are written, and before the catalog has the table: what cleans up does not run, either.
    for dying, cleaning in (
        ((versions, "sync"), (versions.shutil, "rmtree")),
        ((Definitions, "add"), (StoredRows, "remove")),
    ):
        with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]") as mill:
            mill.execute(STREAM)
            with monkeypatch.context() as patch:
                patch.setattr(*dying, dies)
                patch.setattr(*cleaning, stays)
                with pytest.raises(Killed):
                    mill.execute(part)
        with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]", resumes=True) as mill:
            assert mill.catalog.relation("t") is None
            assert all("/tables: t\n" in problem for problem in mill.resumed.problems)  # what is left over is told
    with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]", resumes=True) as mill:
        mill.execute(part)
    put(tmp_path / "in", "b", "4,2024-01-01T00:00:04,1")  # what comes later is not in it
    with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]", resumes=True) as mill:
        (answer,) = mill.execute("SELECT id FROM t ORDER BY id")
        assert answer.table is not None
        assert answer.table["id"].to_pylist() == [3, 4, 5, 6]


def test_a_reader_that_fails_fails_its_queries(live_mill: Mill, tmp_path: Path) -> None:
    put(tmp_path / "in", "a", *ROWS)
    live_mill.execute(STREAM + "CREATE QUERY q AS SELECT id FROM s")
    live_mill.query("q").process_available()
    assert ids(live_mill, "q") == list(range(10))
    (tmp_path / "in" / "b.csv").write_text("other,columns\n1,2\n")
    with pytest.raises(RunError, match="stream s cannot be read"):
        live_mill.wait()
    assert "stream s cannot be read" in str(live_mill.query("q").failure)


def test_what_is_kept_is_told(mill: Mill, tmp_path: Path) -> None:
    put(tmp_path / "in", "a", *ROWS, "x,,")
    mill.execute(STREAM + "CREATE QUERY q AS SELECT id FROM s")
    mill.wait()
    (answer,) = mill.execute("DESCRIBE s")
    assert "keeps all: 10 rows, 1 rejected, " in answer.message
    assert "from 2024-01-01T00:00:00 to 2024-01-01T00:00:09" in answer.message
    (shown,) = mill.execute("SHOW STREAMS")
    assert shown.table is not None
    assert shown.table["keeps"].to_pylist()[0].startswith("all: 10 rows, 1 rejected, ")


def test_a_stopped_query_holds_back_what_is_trimmed(
    spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trim, "GRACE", 0)
    stream = STREAM.replace("KEEP ALL", "KEEP 2 SECONDS")

    def run(query: str) -> tuple[list[int], int]:
        with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]") as mill:
            mill.execute(stream + query)
            mill.wait()
            mill.engine.readers.tidy()
            log = mill.engine.readers.open(mill.catalog.relation("s")).log
            return (ids(mill, "q") if query else []), log.index.extent.begin

    put(tmp_path / "in", "a", *ROWS)
    assert run("CREATE QUERY q AS SELECT id FROM s") == (list(range(10)), 0)
    put(tmp_path / "in", "b", "50,2024-01-01T00:01:00,1")
    assert run("") == ([], 10)  # q has read the first ten rows
    put(tmp_path / "in", "c", "60,2024-01-01T00:02:00,1")
    assert run("") == ([], 10)  # and none since
    assert run("CREATE QUERY q AS SELECT id FROM s") == ([*range(10), 50, 60], 11)
    with pytest.raises(RunError, match=r"the history of s begins at 2024-01-01T00:01:00\.000001"):
        run("CREATE QUERY q2 AS SELECT id FROM s START AT '2024-01-01T00:00:30'")


def test_tuples_that_are_stamped_as_they_land_are_never_late(live_mill: Mill) -> None:
    """The clock moves their windows on, and what is on its way into the log must not come behind it."""
    live_mill.execute("""
        CREATE STREAM r (current_time TIMESTAMP, n BIGINT) ORDER BY current_time KEEP ALL SOURCE 'rate:50';
        CREATE QUERY q AS SELECT window_end, count(*) [RANGE 1 SECOND, WA current_time] AS n FROM r;
    """)
    query, reader = live_mill.query("q"), live_mill.engine.readers.find("r")
    assert reader is not None

    def until(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < deadline, "it did not come"
            time.sleep(0.1)

    until(lambda: query.to_arrow().num_rows >= 3)
    reader.stop()
    landed = reader.log.index.totals()[0]
    until(lambda: sum(query.to_arrow()["n"].to_pylist()) == landed)
    assert query.counts.late == {"r": 0}


def test_pushed_lines_are_let_go_of_when_they_have_landed(mill: Mill) -> None:
    log = mill.home.log_of("p")
    with LogWriter(log, segment_bytes=100) as writer:
        for n in range(40):
            writer.append(f'{{"id": {n}}}\n'.encode())
            writer.sync()
    before = len(list(log.glob("*.log")))
    mill.execute("CREATE STREAM p (id INT) KEEP ALL SOURCE 'tcp:0'; CREATE QUERY q AS SELECT id FROM p")
    mill.wait()
    mill.engine.readers.tidy()
    assert before > len(list(log.glob("*.log"))) == 1
    mill.execute("CREATE QUERY later AS SELECT id FROM p")
    mill.wait()
    assert ids(mill, "q") == ids(mill, "later") == list(range(40))

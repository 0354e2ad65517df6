"""ALTER QUERY at any moment: each answer is that of the definition in force, none is missing, and none comes twice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from millstream.connectors.history import log_source
from millstream.errors import RunError
from millstream.history import trim
from millstream.mill import Mill, connect
from tests.drawing import THOROUGH

pytestmark = pytest.mark.spark

START = datetime(2024, 1, 1, tzinfo=UTC)
SLACK = 2
STREAM = f"CREATE STREAM s (k STRING, v INT, ts TIMESTAMP) ORDER BY ts SLACK {SLACK} SECONDS KEEP ALL SOURCE 'csv:in';"
SELECT = "SELECT k, sum(v) [{window}, WA ts] AS total, window_start AS a, window_end AS b FROM s GROUP BY k"
Row = tuple[str, int, int]
Answer = tuple[str, int, int, int]
"""Key, sum, and the seconds of both bounds."""


def tumble(size: int) -> tuple[str, str]:
    """A SELECT, and the same for DuckDB over (k, v, t)."""
    return slide(size, size)


def slide(size: int, step: int) -> tuple[str, str]:
    window = f"RANGE {size} SECONDS, SLIDE {step} SECONDS"
    oracle = f"""SELECT k, sum(v), w, w + {size} FROM s, range(-{size // step * step + step}, 200, {step}) AS r(w)
        WHERE t >= w AND t < w + {size} GROUP BY k, w"""
    return SELECT.format(window=window), oracle


def session(gap: int) -> tuple[str, str]:
    select = f"""SELECT k, sum(v) AS total, window_start AS a, window_end AS b
        FROM SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '{gap}' SECOND) GROUP BY k"""
    oracle = f"""SELECT k, sum(v), min(t), max(t) + {gap} FROM (
        SELECT *, sum(fresh) OVER (PARTITION BY k ORDER BY t) AS number FROM (
            SELECT *, coalesce(t - lag(t) OVER (PARTITION BY k ORDER BY t) >= {gap}, true)::INT AS fresh FROM s))
        GROUP BY k, number"""
    return select, oracle


def put(folder: Path, name: int, rows: list[Row]) -> None:
    folder.mkdir(exist_ok=True)
    lines = "".join(f"{k},{v},{(START + timedelta(seconds=t)).replace(tzinfo=None).isoformat()}\n" for k, v, t in rows)
    hidden = folder / f".{name}"
    hidden.write_text(f"k,v,ts\n{lines}")
    hidden.rename(folder / f"{name:03}.csv")


def answers(mill: Mill, name: str = "q") -> list[Answer]:
    """What a query has answered so far, in the order of its answers."""
    table = mill.query(name).to_arrow()
    found = []
    for row in table.to_pylist():
        a, b = (round((row[bound] - START).total_seconds()) for bound in ("a", "b"))
        found.append((row["k"], row["total"], a, b))
    return found


def oracle(query: str, rows: list[Row]) -> list[Answer]:
    with duckdb.connect() as db:
        db.execute("CREATE TABLE s (k VARCHAR, v INT, t INT)")
        db.executemany("INSERT INTO s VALUES (?, ?, ?)", rows)
        return [tuple(row) for row in db.execute(query).fetchall()]


def closed(definition: tuple[str, str], rows: list[Row], seen: int) -> set[Answer]:
    """The answers over all rows to windows that are complete when so many have been read."""
    until = max((t for _, _, t in rows[:seen]), default=-1000) - SLACK
    return {answer for answer in oracle(definition[1], rows) if answer[3] <= until}


DEFINITIONS = st.one_of(
    st.builds(tumble, st.sampled_from([4, 6, 10])),
    st.builds(slide, st.sampled_from([4, 6, 12]), st.sampled_from([2, 4])),
    st.builds(session, st.sampled_from([2, 5])),
)


@st.composite
def arrivals(draw: st.DrawFn) -> list[Row]:
    """Rows out of order, within the slack."""
    times = draw(st.lists(st.integers(0, 60), min_size=8, max_size=60))
    delayed = sorted((t + draw(st.integers(0, SLACK)), t) for t in times)
    return [(draw(st.sampled_from("ab")), draw(st.integers(1, 9)), t) for _, t in delayed]


def moments(data: st.DataObject, count: int) -> Iterator[tuple[int, int]]:
    cuts = sorted(data.draw(st.lists(st.integers(0, count), min_size=4, max_size=4), "cuts"))
    yield from zip([0, *cuts], [*cuts, count], strict=True)


@settings(
    max_examples=20 if THOROUGH else 2,
    derandomize=not THOROUGH,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_each_answer_is_that_of_the_definition_in_force(
    live_mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    rows = data.draw(arrivals(), "rows")
    monkeypatch.setattr(log_source, "MOST_ROWS", data.draw(st.sampled_from([3, 1000]), "rows in a batch"))
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    folder.mkdir()
    number = 0
    live_mill.execute("DROP QUERY IF EXISTS q; DROP STREAM IF EXISTS s;")
    live_mill.execute(STREAM.replace("csv:in", f"csv:{folder}"))
    definition = data.draw(DEFINITIONS, "definition")
    live_mill.execute(f"CREATE QUERY q AS {definition[0]};")
    expected: list[Answer] = []
    for begin, end in moments(data, len(rows)):
        if end > begin:
            put(folder, number, rows[begin:end])
            number += 1
        live_mill.query("q").process_available()
        expected += closed(definition, rows, end) - closed(definition, rows, begin)
        assert sorted(answers(live_mill)) == sorted(expected)
        if data.draw(st.booleans(), "stopped"):
            live_mill.execute("STOP QUERY q;")
        definition = data.draw(DEFINITIONS, "definition")
        live_mill.execute(f"ALTER QUERY q AS {definition[0]}; START QUERY q;")


def said(mill: Mill, text: str) -> str:
    return mill.execute(text)[-1].message


def complete(mill: Mill) -> str | None:
    (shown,) = mill.execute("SHOW QUERIES")
    assert shown.table is not None
    return next(row["complete from"] for row in shown.table.to_pylist() if row["query"] == "q")


def read(mill: Mill, name: str = "q") -> list[Answer]:
    mill.query(name).process_available()
    return sorted(answers(mill, name))


def test_a_history_that_is_too_short_is_told(live_mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trim, "GRACE", 0)
    (tmp_path / "in").mkdir()
    live_mill.execute(STREAM.replace("KEEP ALL", "KEEP 3 SECONDS") + f"CREATE QUERY q AS {tumble(4)[0]};")
    for number in range(10):
        put(tmp_path / "in", number, [("a", 1, 2 * number), ("b", 1, 2 * number + 1)])
        read(live_mill)
    before = read(live_mill)  # up to 16
    live_mill.engine.readers.tidy()
    (index,) = [live_mill.engine.readers.open(live_mill.catalog.relation("s")).log.index]
    trimmed = index.extent.trimmed_newest
    assert trimmed is not None
    second = trimmed // 1_000_000 - int(START.timestamp())
    assert 8 <= second < 16
    message = said(live_mill, f"ALTER QUERY q AS {slide(10, 2)[0]}")
    begins = f"2024-01-01T00:00:{second:02}.000001"
    assert message.endswith(f"but for windows that began before {begins}: for these the history is too short")
    assert complete(live_mill) == begins
    explained = live_mill.execute("EXPLAIN q")[0].text or ""
    assert f"answers are complete for what begins at {begins} or later" in explained
    put(tmp_path / "in", 10, [("a", 1, 40)])
    new = [row for row in read(live_mill) if row not in before]
    rows = [("a", 1, 2 * n) for n in range(10)] + [("b", 1, 2 * n + 1) for n in range(10)] + [("a", 1, 40)]
    assert sorted(new) == sorted(a for a in oracle(slide(10, 2)[1], rows) if a[2] > second and a[3] <= 38)
    with pytest.raises(RunError, match=r"query q cannot be filled from the history of s(.|\n)*STARTING NOW"):
        live_mill.execute(f"ALTER QUERY q AS {session(2)[0]}")
    assert live_mill.query("q").is_active
    assert said(live_mill, f"ALTER QUERY q AS {session(2)[0]} STARTING NOW").endswith("00:00:40.000001 or later")


def test_panes_serve_another_window_without_history(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    live_mill.execute(STREAM.replace("KEEP ALL ", "") + f"CREATE QUERY q AS {slide(12, 2)[0]};")
    rows = [("a", n, n) for n in range(30)]
    put(tmp_path / "in", 0, rows[:15])
    found = read(live_mill)
    expected = closed(slide(12, 2), rows, 15)
    assert found == sorted(expected)
    message = said(live_mill, "ALTER QUERY q WINDOW [RANGE 8 SECONDS, SLIDE 4 SECONDS, WA ts]")
    assert message.endswith("it goes on from where it was")
    put(tmp_path / "in", 1, rows[15:22])
    expected |= closed(slide(8, 4), rows, 22) - closed(slide(8, 4), rows, 15)
    assert read(live_mill) == sorted(expected)
    live_mill.execute("STOP QUERY q; START QUERY q;")
    message = said(live_mill, "ALTER QUERY q WINDOW [RANGE 10 SECONDS, SLIDE 4 SECONDS, WA ts]")
    assert message.endswith(
        "; it begins anew, with the rows that come from now on: answers are complete for what "
        "begins at 2024-01-01T00:00:21.000001 or later"
    )
    put(tmp_path / "in", 2, [*rows[22:], ("a", 1, 50)])
    whole = {a for a in oracle(slide(10, 4)[1], [*rows[22:], ("a", 1, 50)]) if a[2] > 21 and a[3] <= 48}
    assert read(live_mill) == sorted(expected | whole)


def test_where_a_query_began_stays_and_so_does_what_was_filled(spark: object, tmp_path: Path) -> None:
    rows = [("a", 1, n) for n in range(40)]
    start = "START AT '2024-01-01T00:00:08'"
    with connect(tmp_path / "home", base=tmp_path, master="local[2]") as mill:
        put(tmp_path / "in", 0, rows[:20])
        mill.execute(f"{STREAM} CREATE QUERY q AS {tumble(4)[0]} {start};")
        expected = {a for a in closed(tumble(4), rows, 20) if a[2] >= 8}
        assert read(mill) == sorted(expected)
        mill.execute("STOP QUERY q")
        assert "filled from history" in said(mill, "ALTER QUERY q WINDOW [RANGE 10 SECONDS, SLIDE 2 SECONDS, WA ts]")
        assert mill.catalog.query("q").text.endswith(start)  # type: ignore[union-attr]
        mill.execute("START QUERY q")
        put(tmp_path / "in", 1, rows[20:25])
        now = slide(10, 2)
        expected |= {a for a in closed(now, rows, 25) - closed(now, rows, 20) if a[2] >= 8}
        assert read(mill) == sorted(expected)
        assert "SLIDE 2 seconds" in (mill.execute("EXPLAIN q")[0].text or "")
    put(tmp_path / "in", 2, rows[25:])
    with connect(tmp_path / "home", base=tmp_path, master="local[2]", resumes=True) as mill:
        assert mill.resumed.queries == ("q",)
        assert read(mill) == sorted(expected | (closed(now, rows, 40) - closed(now, rows, 25)))
        assert len(list((tmp_path / "home" / "queries").iterdir())) == 1

"""What the queries have found, beside what was really played, and beside what DuckDB finds in the same readings.

`python -m millstream_bench.soccer.results MATCH OUT` tells all of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from millstream_bench.soccer.queries import NAMES
from millstream_bench.soccer.rules import Rules

DISTANCE_SHARE = 0.01
"""How far a distance may be off, as a share of the true one."""
POSSESSION_SHARE = 0.02
"""How far a time with the ball may be off."""
HIT_SECONDS = 0.05
"""A shot follows a hit that is told within this of the true one."""
MAPS = 40
"""So many seconds of heat maps are looked at, spread over the match; each has all players, grids and windows."""
GRIDS = ((8, 13), (16, 25), (32, 50), (64, 100))

_FILES = {"sensors": "sensors", "play": "play", "hits": "truth/hits", "holders": "truth/holders",
          "shots": "truth/shots", "running": "truth/running", "readings": "events/*"}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """Something that was found, what was wanted, and whether that will do."""

    name: str
    found: float
    wanted: float
    ok: bool


def check(
    folder: str | Path, out: str | Path, rules: Rules | None = None, queries: Sequence[str] = NAMES
) -> list[Finding]:
    """All findings of some queries, whose results are in the folder `out`."""
    looks = {"q1": _running, "q2": _possession, "q3": _heat, "q4": _shots}
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, path in _FILES.items():
            _view(connection, name, Path(folder) / f"{path}.parquet")
        for sink in sorted(p.name for p in Path(out).iterdir() if any(p.glob("*.parquet"))):
            _view(connection, f"found_{sink}", Path(out) / sink / "*.parquet")
        return [f for name in NAMES if name in queries for f in looks[name](connection, rules or Rules())]


def _view(connection: duckdb.DuckDBPyConnection, name: str, path: Path) -> None:
    quoted = str(path).replace("'", "''")
    connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{quoted}')")


def _running(connection: duckdb.DuckDBPyConnection, rules: Rules) -> Iterator[Finding]:
    """The way of each player in all seconds that are play from beginning to end: of others no truth is known."""
    rows = connection.execute("""
        SELECT t.player_id, sum(f.distance), sum(t.distance)
        FROM found_running AS f JOIN running AS t
          ON t.player_id = f.player_id AND t.second = CAST(floor(epoch(f.ts_start)) AS BIGINT)
        WHERE t.playing > 0.999999 GROUP BY 1 ORDER BY 1""").fetchall()
    for player, found, wanted in rows:
        yield _near(f"distance of {player}", found, wanted, DISTANCE_SHARE)
    seconds = connection.execute("SELECT count(*) FROM running WHERE playing > 0").fetchone()
    told = connection.execute(
        "SELECT count(DISTINCT (player_id, floor(epoch(ts_start)))) FROM found_running"
    ).fetchone()
    yield _same("seconds of running", told, seconds)
    last = """SELECT player_id, standing_time + trot_time + low_time + medium_time + high_time + sprint_time AS told
              FROM found_running_totals WHERE minutes = 0 QUALIFY ts = max(ts) OVER ()"""
    truth = "SELECT player_id, sum(playing) AS played FROM running GROUP BY 1"
    for player, found, wanted in connection.execute(f"""
            SELECT player_id, told, played FROM ({last}) JOIN ({truth}) USING (player_id) ORDER BY 1""").fetchall():
        # What was not held long enough at the very end is still waiting for the class after it.
        yield Finding(f"time of {player}", found, wanted, abs(found - wanted) < 2 * rules.lasting_seconds)


def _possession(connection: duckdb.DuckDBPyConnection, rules: Rules) -> Iterator[Finding]:
    """What each player and team had of the ball, and the hits, up to the last time that both were told."""
    held = "epoch(least(ends, CAST(last AS TIMESTAMPTZ)) - begins)"
    players = connection.execute(f"""
        WITH told AS (SELECT * FROM found_possession WHERE minutes = 0 QUALIFY ts = max(ts) OVER ()),
             until AS (SELECT max(ts) AS last FROM told),
             held AS (SELECT player_id, sum({held}) AS time FROM holders, until WHERE begins < last GROUP BY 1),
             hit AS (SELECT player_id, count(*) AS hits FROM hits, until WHERE time < last GROUP BY 1)
        SELECT player_id, told.time, coalesce(held.time, 0), told.hits, coalesce(hit.hits, 0)
        FROM told LEFT JOIN held USING (player_id) LEFT JOIN hit USING (player_id) ORDER BY 1""").fetchall()
    for player, time, true_time, hits, true_hits in players:
        yield _near(f"possession of {player}", time, true_time, POSSESSION_SHARE)
        yield Finding(f"hits of {player}", hits, true_hits, hits == true_hits)
    teams = connection.execute(f"""
        WITH told AS (SELECT * FROM found_team_possession WHERE minutes = 0 QUALIFY ts = max(ts) OVER ()),
             until AS (SELECT max(ts) AS last FROM told),
             held AS (SELECT team, sum({held}) AS time FROM holders, until WHERE begins < last GROUP BY 1)
        SELECT team_id, told.time, held.time, time_percent, 100 * held.time / sum(held.time) OVER ()
        FROM told LEFT JOIN held ON team_id = team ORDER BY 1""").fetchall()
    for team, time, true_time, percent, true_percent in teams:
        yield _near(f"possession of {team}", time, true_time, POSSESSION_SHARE)
        yield _near(f"percent of {team}", percent, true_percent, POSSESSION_SHARE)


def _shots(connection: duckdb.DuckDBPyConnection, rules: Rules) -> Iterator[Finding]:
    """Every shot on goal is found while the ball flies, by its player, and nothing else is."""
    missed, told, strange = connection.execute(f"""
        WITH found AS (SELECT player_id, CAST(make_timestamp(ts // 1000000) AS TIMESTAMPTZ) AS time FROM found_shots),
             own AS (SELECT f.time, f.player_id, s.time AS shot FROM found AS f LEFT JOIN shots AS s
                     ON s.on_goal AND f.player_id = s.player_id AND f.time >= s.time
                       AND f.time < s.ends + to_seconds({HIT_SECONDS}))
        SELECT (SELECT count(*) FROM shots WHERE on_goal AND time NOT IN (SELECT shot FROM own WHERE shot IS NOT NULL)),
               (SELECT count(DISTINCT shot) FROM own), (SELECT count(*) FROM own WHERE shot IS NULL)
        """).fetchone() or (0, 0, 0)  # fmt: skip
    yield Finding("shots on goal", told, told + missed, missed == 0)
    yield Finding("readings of other shots", strange, 0, strange == 0)


def _heat(connection: duckdb.DuckDBPyConnection, rules: Rules) -> Iterator[Finding]:
    """Counts of cells in some seconds, for all players, grids and windows: those that differ, and all."""
    windows = (rules.window_1_minutes, rules.window_2_minutes, rules.heat_window_3_minutes, 0)
    where = "TRUE" if rules.off_field_counts else (
        f"x >= {rules.x_low} AND x < {rules.x_high} AND y >= {rules.y_low} AND y < {rules.y_high}"
    )  # fmt: skip
    connection.execute(f"""
        CREATE TEMP TABLE located AS
        SELECT player_id, p.second AS sec, {", ".join(_cell(*grid, rules) for grid in GRIDS)}, count(*) AS n
        FROM readings AS r JOIN sensors AS s ON r.sid = s.sid AND s.kind = 'player'
          JOIN play AS p ON CAST(floor(epoch(r.time)) AS BIGINT) = p.second AND r.time >= p.begins AND r.time < p.ends
        WHERE {where} GROUP BY ALL""")
    connection.execute(f"""
        CREATE TEMP TABLE looked_at AS
        WITH ends AS (SELECT DISTINCT CAST(epoch(ts) AS BIGINT) AS moment FROM found_heat),
             ranked AS (SELECT moment, row_number() OVER (ORDER BY moment) AS place, count(*) OVER () AS size FROM ends)
        SELECT moment FROM ranked WHERE place = size OR place % greatest(size // {MAPS}, 1) = 0""")
    wanted = " UNION ALL ".join(_wanted(across, along, minutes) for across, along in GRIDS for minutes in windows)
    differ, cells = connection.execute(f"""
        WITH wanted AS ({wanted}),
             found AS (SELECT moment, player_id, grid_x, grid_y, minutes, total, unnest(cells) AS cell,
                         unnest(counts) AS readings
                       FROM found_heat JOIN looked_at ON CAST(epoch(ts) AS BIGINT) = moment),
             pairs AS (SELECT w.readings AS a, f.readings AS b FROM wanted AS w FULL JOIN found AS f
                      USING (moment, player_id, grid_x, grid_y, minutes, total, cell))
        SELECT count(*) FILTER (WHERE a IS DISTINCT FROM b), count(*) FROM pairs""").fetchone() or (0, 0)
    yield Finding("cells of heat maps", cells - differ, cells, differ == 0 and cells > 0)


def _cell(across: int, along: int, rules: Rules) -> str:
    wide, long = rules.x_high - rules.x_low, rules.y_high - rules.y_low
    column = f"least(greatest((x - {rules.x_low}) * {across} // {wide}, 0), {across - 1})"
    row = f"least(greatest((y - {rules.y_low}) * {along} // {long}, 0), {along - 1})"
    return f"CAST({column} * {along} + {row} AS INT) AS cell_{across}"


def _wanted(across: int, along: int, minutes: int) -> str:
    begins = f"moment - {60 * minutes}" if minutes else "0"
    # Only players who were read in the last second have a map.
    return f"""
        SELECT moment, player_id, {across} AS grid_x, {along} AS grid_y, {minutes} AS minutes,
          CAST(sum(readings) OVER (PARTITION BY moment, player_id) AS BIGINT) AS total, cell, readings
        FROM (SELECT moment, player_id, cell_{across} AS cell, CAST(sum(n) AS INT) AS readings
              FROM located JOIN looked_at ON sec < moment AND sec >= {begins}
              WHERE (player_id, moment - 1) IN (SELECT (player_id, sec) FROM located) GROUP BY ALL)"""


def _near(name: str, found: float, wanted: float, share: float) -> Finding:
    return Finding(name, found, wanted, abs(found - wanted) <= share * abs(wanted) + 1e-9)


def _same(name: str, found: tuple[int, ...] | None, wanted: tuple[int, ...] | None) -> Finding:
    return Finding(name, (found or (0,))[0], (wanted or (0,))[0], found == wanted)


def main() -> None:
    """Tell all findings; those that will not do make the command fail."""
    parser = argparse.ArgumentParser(description="What the queries have found, beside the truth.")
    parser.add_argument("match", help="the folder of the match")
    parser.add_argument("out", help="the folder of the results")
    parser.add_argument("--queries", default=",".join(NAMES), help="some of them, as q1,q3")
    given = parser.parse_args()
    findings = check(given.match, given.out, queries=given.queries.split(","))
    for finding in findings:
        mark = "ok   " if finding.ok else "WRONG"
        sys.stdout.write(f"{mark} {finding.name}: {finding.found:g}, wanted {finding.wanted:g}\n")
    sys.exit(any(not finding.ok for finding in findings))


if __name__ == "__main__":
    main()

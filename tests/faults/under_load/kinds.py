"""The kinds of queries that come and go, each with the SQL by which DuckDB computes what it must have answered."""

from __future__ import annotations

from dataclasses import dataclass

from tests.faults.under_load.load import SLACK_SECONDS

COLUMNS = "(id INT, k INT, v INT, ts TIMESTAMP)"
ORDER = f"ORDER BY ts SLACK {SLACK_SECONDS} SECONDS"
DECLARATIONS = f"""
CREATE STREAM s {COLUMNS} {ORDER} SOURCE 'csv:in';
CREATE STREAM kept {COLUMNS} {ORDER} KEEP ALL SOURCE 'csv:in';
CREATE STREAM pushed {COLUMNS} {ORDER} SOURCE 'tcp:PORT' OPTIONS (format = 'csv');
CREATE STREAM derived AS SELECT id, k, v, ts FROM s WHERE v < 90;
CREATE STREAM fed (id INT, k INT, v INT, ts TIMESTAMP, tag INT) {ORDER};
CREATE SINK folder TO 'csv:out/folder';
CREATE SINK single TO 'csv:out/single.csv';
"""
TUMBLED = """SELECT k, time_bucket(INTERVAL 5 SECOND, ts, TIMESTAMP '2024-01-01') + INTERVAL 5 SECOND AS until,
    count(*) AS n, sum(v) AS total FROM s GROUP BY 1, 2"""


@dataclass(frozen=True)
class Kind:
    """A kind of query. `whole` is over the rows without the last one, which only closes windows; `every` has them all.

    `create` is what the query is made with; {name} and {tag} are filled in. The first column of `rows` is the id.
    """

    name: str
    select: str
    whole: str
    create: str = "CREATE QUERY {name} AS {select}"
    source: str = "s"
    rows: bool = True
    sink: str | None = None
    begins: str = "first"
    alters: bool = True

    def statement(self, name: str, tag: int) -> str:
        """What makes a query of this kind."""
        return self.create.format(name=name, select=self.select.format(tag=tag))

    def altered(self, name: str, tag: int) -> str:
        """The same state, with another tag beside the answers."""
        return f"ALTER QUERY {name} AS {self.select.format(tag=tag)}"


def _rows(name: str, source: str, condition: str, **more: object) -> Kind:
    select = f"SELECT id, v + 1 AS w, {{tag}} AS tag FROM {source} WHERE {condition}"
    table = {"kept": "s", "derived": "(FROM s WHERE v < 90)"}.get(source, source)
    return Kind(name, select, f"SELECT id, v + 1 FROM {table} WHERE {condition}", source=source, **more)  # type: ignore[arg-type]


ROWS = _rows("rows", "s", "v < 60")
WINDOWS = Kind(
    "windows",
    "SELECT k, window_end AS until, count(*) [RANGE 5 SECONDS, WA ts] AS n, sum(v) AS total, {tag} AS tag"
    " FROM s GROUP BY k",
    TUMBLED,
    rows=False,
)
SLIDING = Kind(
    "sliding",
    "SELECT k, window_end AS until, max(v) [RANGE 6 SECONDS, SLIDE 2 SECONDS, WA ts] AS top, {tag} AS tag"
    " FROM s WHERE v > 5 GROUP BY k",
    "SELECT k, w + INTERVAL 6 SECOND, max(v) FROM s, (SELECT unnest(range(TIMESTAMP '2023-12-31 23:59:00',"
    " (SELECT max(ts) FROM s) + INTERVAL 1 SECOND, INTERVAL 2 SECOND)) AS w)"
    " WHERE v > 5 AND ts >= w AND ts < w + INTERVAL 6 SECOND GROUP BY 1, 2",
    rows=False,
)
OVER = Kind(
    "over",
    "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY ts ROWS 3 PRECEDING) AS total, {tag} AS tag FROM s",
    "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM s",
)
JOIN = Kind(
    "join",
    "SELECT a.id, b.id AS other, {tag} AS tag FROM s AS a [RANGE 1 SECOND, WA ts], derived AS b WHERE a.k = b.k",
    "SELECT a.id, b.id FROM s AS a, s AS b WHERE a.k = b.k AND b.v < 90"
    " AND b.ts >= a.ts AND b.ts <= a.ts + INTERVAL 1 SECOND",
)
DERIVED = _rows("derived", "derived", "v > 30")
KEPT = _rows("kept", "kept", "v < 60")
KEPT_FIRST = _rows(
    "kept from the first", "kept", "v < 60", create="CREATE QUERY {name} AS {select} START AT EARLIEST", alters=False
)
KEPT_NOW = _rows(
    "kept from now",
    "kept",
    "v >= 0",
    create="CREATE QUERY {name} AS {select} START AT NOW",
    begins="now",
    alters=False,
)
KEPT_WINDOWS = Kind(
    "windows of kept", WINDOWS.select.replace("FROM s", "FROM kept"), WINDOWS.whole, source="kept", rows=False
)
PUSHED = _rows("pushed", "pushed", "v < 60")
FED = Kind("fed", "SELECT id, tag AS feeder, {tag} AS tag FROM fed", "SELECT id, tag FROM fed", source="fed")
INTO_FOLDER = _rows("into a folder", "s", "v < 60", create="INSERT INTO folder {select}", sink="folder")
INTO_SINGLE = _rows("into a file", "s", "v < 60", create="INSERT INTO single {select}", sink="single")
INTO_FED = Kind(
    "into a stream",
    "SELECT id, k, v, ts, {tag} AS tag FROM s WHERE v < 50",
    "SELECT id, k, v FROM s WHERE v < 50",
    create="INSERT INTO fed {select}",
    sink="fed",
    alters=False,
)
VIEW = Kind(
    "view",
    "SELECT k, id, {tag} AS tag FROM s",
    "SELECT k, arg_max(id, ts) FROM every GROUP BY k",
    create="CREATE VIEW {name} KEY (k) AS {select}",
    rows=False,
    alters=False,
)
WINDOW_VIEW = Kind(
    "view of windows",
    WINDOWS.select,
    f"SELECT k, max(until), arg_max(n, until), arg_max(total, until) FROM ({TUMBLED}) GROUP BY k",
    create="CREATE VIEW {name} KEY (k) AS {select}",
    rows=False,
    alters=False,
)
TEMPLATE = Kind(
    "template",
    "SELECT id, v + 1 AS w, {tag} AS tag FROM s WHERE k = wanted",
    "",
    create="CREATE QUERY {name} (wanted INT) AS {select}",
    alters=False,
)
KINDS = (
    *(ROWS, WINDOWS, SLIDING, OVER, JOIN, DERIVED, KEPT, KEPT_FIRST, KEPT_NOW, KEPT_WINDOWS, PUSHED, FED),
    *(INTO_FOLDER, INTO_SINGLE, INTO_FED, VIEW, WINDOW_VIEW, TEMPLATE),
)
IN_COMPANY = (ROWS, WINDOWS, SLIDING, DERIVED, INTO_FOLDER)
"""Those that can share a reading."""

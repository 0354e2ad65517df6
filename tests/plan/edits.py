"""Queries of every kind of step with state, and edits of them: which ones its state survives, and what is said if not.

An edit is a query, a text in it or in what it reads, and what takes its place.
"""

from __future__ import annotations

from millstream.catalog.catalog import Catalog
from millstream.catalog.select import Select
from millstream.language.binder import bind
from millstream.language.bound import Define, Rows
from millstream.language.parser import statements
from millstream.plan.algebra import Node
from millstream.plan.build import build
from millstream.plan.passes import apply_passes

DECLARED = """
CREATE STREAM s (k INT, g STRING, v INT, w DOUBLE, ts TIMESTAMP, at TIMESTAMP, d INT AS (v * 2))
  ORDER BY ts SLACK 5 SECONDS SOURCE 'csv:in' OPTIONS (delimiter = ',');
CREATE STREAM r (k INT, x STRING, tr TIMESTAMP) ORDER BY tr SOURCE 'csv:more';
CREATE STREAM dear AS SELECT k, g, v + 1 AS more, ts FROM s WHERE v > 1 AND w < 5;
CREATE TABLE names (k INT, name STRING, rank INT) SOURCE 'csv:names';
"""
BODY = """CREATE AGGREGATE twice (n INT) : INT {
  TABLE state (total INT); INITIALIZE: { INSERT INTO state VALUES (n); }
  ITERATE: { UPDATE state SET total = total + n; }
  TERMINATE: { INSERT INTO RETURN SELECT total FROM state; } };
"""

QUERIES = {
    "window": "SELECT k, sum(v) [RANGE 1 MINUTE, WA ts] AS total, max(w) AS most FROM s WHERE v > 1 AND w < 9"
    " GROUP BY k, g HAVING sum(v) > 3",
    "quantile": "SELECT quantile(v, 0.5) [RANGE 1 HOUR, SLIDE 1 MINUTE] AS q FROM s",
    "rows": "SELECT k, max(v) [RANGE 10 ROWS, PA k, g] AS most FROM s GROUP BY w > 1",
    "session": "SELECT k, min(v) AS n FROM SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND)"
    " GROUP BY k",
    "over": "SELECT v, w, sum(v) OVER (PARTITION BY k, g ORDER BY ts ROWS 3 PRECEDING) AS total FROM s",
    "frames": "SELECT v, sum(v) OVER (PARTITION BY k ROWS 3 PRECEDING) AS a, max(w) OVER (PARTITION BY g ROWS 4"
    " PRECEDING) AS b FROM s",
    "join": "SELECT s.v, r.x FROM s [RANGE 1 MINUTE], r WHERE s.k = r.k",
    "outer": "SELECT a.v, b.x, b.tr FROM s AS a LEFT JOIN r AS b ON a.k = b.k AND a.v > b.k"
    " AND b.tr BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE",
    "table": "SELECT sum(v) [RANGE 1 MINUTE] AS total, name FROM s LEFT JOIN names ON s.k = names.k AND rank > 1"
    " GROUP BY name",
    "union": "SELECT ts, v FROM s UNION SELECT tr, k FROM r WHERE k > 2",
    "merge": "SELECT ts, v FROM s MERGE ORDERED SELECT tr, k FROM r",
    "late": "SELECT v FROM s.LATE",
    "nested": "SELECT max(n) [RANGE 1 HOUR, WA e] AS most FROM (SELECT v + k AS n, window_end AS e FROM"
    " (SELECT k, sum(v) [RANGE 1 MINUTE, WA ts] AS v, window_end FROM s GROUP BY k) AS x) AS y",
    "derived": "SELECT g, sum(more) [RANGE 1 MINUTE] AS total FROM dear GROUP BY g",
    "user": "SELECT twice(v) [RANGE 1 MINUTE, WA ts] AS t FROM s",
    "emitted": "SELECT count(*) [RANGE 1 HOUR] AS n FROM s EMIT EVERY 5 SECONDS",
}

Edit = tuple[str, str, str]

HARMLESS: list[Edit] = [
    # spelling, qualifiers, names
    ("window", "sum(v) [", "SUM(V) ["),
    ("window", "sum(v) [", "sum(s.v) ["),
    ("window", "FROM s WHERE v > 1", "FROM s AS t WHERE t.V > 1"),
    ("window", "AS total", "AS anything"),
    ("window", "sum(v) [", "sum((v)) ["),
    ("window", "[RANGE 1 MINUTE, WA ts]", "[RANGE 60 SECONDS, SLIDE 1 MINUTE]"),
    ("window", "FROM s WHERE", "FROM (SELECT k AS k, v AS v, g, w, ts FROM s) AS sub WHERE"),
    ("derived", "v + 1 AS more", "v + 1 AS other_name, v + 1 AS more"),
    ("derived", "FROM dear", "FROM (SELECT k, G, V + 1 AS more, ts FROM s WHERE w < 5 AND v > 1) AS dear"),
    ("join", "s.v, r.x FROM s [RANGE 1 MINUTE], r WHERE s.k = r.k", "a.v, b.x FROM s AS a [RANGE 1 MINUTE], r AS b"
     " WHERE b.k = a.k"),
    ("merge", "SELECT ts, v FROM s MERGE", "SELECT ts AS moment, v AS number FROM s MERGE"),
    # order
    ("window", "k, sum(v) [RANGE 1 MINUTE, WA ts] AS total, max(w) AS most", "max(w) [RANGE 1 MINUTE, WA ts] AS most,"
     " sum(v) AS total, k"),
    ("window", "GROUP BY k, g", "GROUP BY g, k"),
    ("window", "v > 1 AND w < 9", "9 > w AND (1 < v)"),
    ("rows", "PA k, g]", "PA g, k]"),
    ("over", "SELECT v, w,", "SELECT w AS w2, v AS v2,"),
    ("over", "PARTITION BY k, g", "PARTITION BY g, k"),
    ("frames", "v, sum(v) OVER (PARTITION BY k ROWS 3 PRECEDING) AS a, max(w) OVER (PARTITION BY g ROWS 4 PRECEDING)"
     " AS b", "max(w) OVER (PARTITION BY g ROWS 4 PRECEDING) AS b, v, sum(v) OVER (PARTITION BY k ROWS 3 PRECEDING)"
     " AS a"),
    ("join", "s.v, r.x", "r.x, s.v"),
    ("union", "SELECT ts, v FROM s UNION SELECT tr, k FROM", "SELECT v, ts FROM s UNION SELECT k, tr FROM"),
    # what comes after
    ("window", " HAVING sum(v) > 3", ""),
    ("window", "HAVING sum(v) > 3", "HAVING max(w) < 7 AND sum(v) > 4"),
    ("window", "SELECT k,", "SELECT k + 1 AS more, window_end,"),
    ("window", "SELECT k,", "SELECT k, count(*) AS n,"),
    ("window", "AS total", "AS total, sum(v) * 2 AS twice, sum(V) AS again"),
    ("over", "sum(v) OVER", "1 + sum(v) OVER"),
    ("nested", "SELECT v + k AS n", "SELECT k + v AS n"),
    # what no state depends on
    ("window", "SLACK 5", "SLACK 9"),
    ("window", "at TIMESTAMP,", "at STRING,"),
    ("late", "w DOUBLE", "w FLOAT"),
    ("late", "SLACK 5", "SLACK 9"),
    ("table", "'csv:names'", "'csv:elsewhere'"),
    ("user", "total + n", "n + total"),
    ("user", BODY, BODY.replace("state", "kept").replace("(n", "(m").replace("+ n", "+ m").replace("total", "t")),
    ("derived", "v * 2", "v * 3"),
]  # fmt: skip

HARMFUL: list[tuple[str, str, str, str]] = [
    ("window", "k INT, g", "k STRING, g", "key k was INT and is now STRING"),
    ("window", "v INT", "v BIGINT", "the argument of SUM(v) was INT and is now BIGINT"),
    ("window", "w DOUBLE", "w FLOAT", "the argument of MAX(w) was DOUBLE and is now FLOAT"),
    ("window", "v INT", "v INT NOT NULL", "column v of s was INT and is now INT NOT NULL"),
    ("window", "[RANGE 1 MINUTE,", "[RANGE 2 MINUTES,", "the window was [RANGE 1 minute, SLIDE 1 minute] and is now"
     " [RANGE 2 minutes, SLIDE 2 minutes]"),
    ("window", "v > 1 AND w < 9", "w < 9", "the condition v > 1 is gone"),
    ("window", "v > 1 AND w < 9", "v > 1 AND w < 9 AND g = 'a'", "the condition g = 'a' is new"),
    ("window", "v > 1 AND", "v >= 1 AND", "the condition v > 1 is gone; the condition v >= 1 is new"),
    ("window", ", max(w) AS most", "", "MAX(w) is gone"),
    ("window", ", max(w) AS most", ", min(w) AS least", "MAX(w) is gone; MIN(w) is new"),
    ("window", "max(w)", "max(w) FILTER (WHERE v > 2)", "MAX(w) FILTER (v > 2) is new"),
    ("window", "HAVING sum(v) > 3", "HAVING sum(k) > 3", "SUM(k) is new"),
    ("window", "GROUP BY k, g", "GROUP BY k", "key g is gone"),
    ("quantile", "ORDER BY ts SLACK", "ORDER BY at SLACK", "the time stamp was ts TIMESTAMP and is now at TIMESTAMP"),
    ("quantile", "ORDER BY ts SLACK", "ORDER BY at SLACK", "the time stamp of s was external ts and is now external"
     " at"),
    ("window", "delimiter = ','", "delimiter = ';'", "option delimiter of s was ',' and is now ';'"),
    ("window", "'csv:in'", "'csv:else'", "the source of s was csv:in and is now csv:else"),
    ("quantile", "FROM s", "FROM s JOIN names ON s.k = names.k", "table names is new"),
    ("quantile", "0.5", "0.9", "QUANTILE(v, 0.5) is gone; QUANTILE(v, 0.9) is new"),
    ("rows", "PA k, g]", "PA k]", "partition key g is gone"),
    ("session", "INTERVAL '2' SECOND)", "INTERVAL '3' SECOND)", "the window was [SESSION gap 2 seconds] and is now"
     " [SESSION gap 3 seconds]"),
    ("over", "SELECT v, w,", "SELECT v,", "column w is gone"),
    ("over", "SELECT v, w,", "SELECT v, w, at,", "column at is new"),
    ("over", "ROWS 3 PRECEDING", "ROWS 4 PRECEDING", "SUM(v) OVER (ROWS 4 PRECEDING) is new"),
    ("over", "PARTITION BY k, g", "PARTITION BY k", "partition key g is gone"),
    ("join", "[RANGE 1 MINUTE]", "[RANGE 2 MINUTES]", "the window was tr from ts to ts + 1 minute and is now tr from"
     " ts to ts + 2 minutes"),
    ("join", "x STRING", "x INT", "column x was STRING and is now INT"),
    ("outer", "LEFT JOIN r", "FULL JOIN r", "the join was left and is now full"),
    ("outer", " AND a.v > b.k", "", "the condition v > `b:k` is gone"),
    ("table", "rank > 1", "rank > 2", "the condition rank > 2 is new"),
    ("table", " AND rank > 1", " WHERE rank > 1", "the condition rank > 1 is gone; the condition rank > 1 is new"),
    ("table", "LEFT JOIN names", "JOIN names", "the join with a table was left and is now inner"),
    ("table", "names (k INT", "names (k BIGINT", "column k of names was INT and is now BIGINT"),
    ("union", "k > 2", "k > 3", "the condition k > 3 (SELECT 2) is new"),
    ("union", "v INT", "v DOUBLE", "column v of s was INT and is now DOUBLE"),
    ("union", "UNION", "MERGE ORDERED", "its UNION is gone; its MERGE ORDERED is new"),
    ("merge", "MERGE ORDERED", "UNION ALL", "its MERGE ORDERED is gone"),
    ("nested", "v INT", "v DOUBLE", "in its first window aggregate, the argument of SUM(v) was INT and is now DOUBLE"),
    ("nested", "SELECT v + k AS n", "SELECT v - k AS n", "in its second window aggregate, MAX(n) is gone"),
    ("derived", "v + 1 AS more", "v + 2 AS more", "SUM(more) is gone"),
    ("user", "(n INT) : INT", "(n BIGINT) : INT", "the argument of TWICE(v) was INT and is now BIGINT"),
    ("user", "total + n", "total + 2 * n", "the definition of TWICE(v) has changed"),
    ("emitted", " EMIT EVERY 5 SECONDS", "", "EMIT EVERY 5 seconds is gone"),
    ("emitted", "[RANGE 1 HOUR]", "[RANGE 1 HOUR, ORIGIN FIRST]", "ORIGIN FIRST is new"),
]  # fmt: skip


def edited(query: str, old: str = "", new: str = "") -> str:
    """The text of a query with what it reads, after an edit of the one or the other."""
    asked, declared = QUERIES[query], DECLARED + BODY
    assert old in asked or old in declared
    if not old:
        return declared + asked
    return declared + asked.replace(old, new, 1) if old in asked else declared.replace(old, new, 1) + asked


def catalog_of(text: str) -> tuple[Catalog, Select | None]:
    """What the statements of a text declare, and the last SELECT if there is one."""
    catalog, asked = Catalog(), None
    for statement in statements(text):
        bound = bind(statement, catalog)
        if isinstance(bound, Define):
            catalog.add(bound.definition)
        asked = bound.select if isinstance(bound, Rows) else None
    return catalog, asked


def plan_of(text: str) -> Node:
    """The plan of the last statement of a text."""
    catalog, asked = catalog_of(text)
    assert asked is not None
    return apply_passes(build(asked), catalog)

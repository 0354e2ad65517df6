"""Statements inside bodies: what each form does to local tables."""

from __future__ import annotations

import time

import pytest

from millstream.errors import RunError
from tests.udas.making import compiled, defined, over

KEPT = "TABLE t (k INT, v DOUBLE);"


def collecting(tables: str, each: str, final: str, result: str = "(a INT, b DOUBLE)") -> str:
    """An aggregate of (k, v) that does something for each tuple and something at the end."""
    return f"""CREATE AGGREGATE f (k INT, v DOUBLE) : {result} {{
        {tables} INITIALIZE: ITERATE: {{ {each} }} TERMINATE: {{ {final} }} }}"""


ROWS = [(1, 1.0), (2, 5.0), (1, 3.0), (3, None), (None, 7.0), (2, 2.0)]
INSERT = "INSERT INTO t VALUES (f.k, f.v);"


def final(select: str, result: str = "(a INT, b DOUBLE)") -> list[tuple[object, ...]]:
    return over(collecting(KEPT, INSERT, f"INSERT INTO RETURN {select};", result), *ROWS)


def test_select_keeps_rows_in_order() -> None:
    assert final("SELECT k, v FROM t") == ROWS
    assert final("SELECT * FROM t") == ROWS
    assert final("SELECT x.* FROM t AS x") == ROWS


def test_where_leaves_out_false_and_null() -> None:
    assert final("SELECT k, v FROM t WHERE v > 2") == [(2, 5.0), (1, 3.0), (None, 7.0)]
    assert final("SELECT k, v FROM t WHERE NOT v > 2") == [(1, 1.0), (2, 2.0)]
    assert final("SELECT k, v FROM t WHERE k = NULL") == []
    assert final("SELECT k, v FROM t WHERE k IS NULL OR v IS NULL") == [(3, None), (None, 7.0)]
    assert final("SELECT k, v FROM t WHERE k IN (1, 3) AND v IS NOT NULL") == [(1, 1.0), (1, 3.0)]
    assert final("SELECT k, v FROM t WHERE k NOT IN (1, NULL)") == []
    assert final("SELECT k, v FROM t WHERE v BETWEEN 2 AND 5") == [(2, 5.0), (1, 3.0), (2, 2.0)]


def test_groups() -> None:
    totals = "SELECT k, sum(v) FROM t GROUP BY k ORDER BY k"
    assert final(totals) == [(None, 7.0), (1, 4.0), (2, 7.0), (3, None)]
    assert final("SELECT k, sum(v) FROM t GROUP BY k HAVING count(v) > 1 ORDER BY 1 DESC") == [(2, 7.0), (1, 4.0)]
    assert final("SELECT k AS key, max(v) - min(v) FROM t GROUP BY key HAVING key = 1") == [(1, 2.0)]
    assert final("SELECT count(*), avg(v) FROM t") == [(6, 3.6)]
    assert final("SELECT count(DISTINCT k), sum(v) FILTER (WHERE k = 2) FROM t") == [(3, 7.0)]
    assert final("SELECT count(*), sum(v) FROM t WHERE k = 99") == [(0, None)]
    assert final("SELECT k, count(*) FROM t WHERE k = 99 GROUP BY k") == []


def test_order_limit_distinct() -> None:
    assert final("SELECT k, v FROM t ORDER BY v DESC LIMIT 2") == [(None, 7.0), (2, 5.0)]
    assert final("SELECT k, v FROM t ORDER BY v NULLS LAST LIMIT 1 OFFSET 1") == [(2, 2.0)]
    assert final("SELECT DISTINCT k, 0.0 FROM t ORDER BY k") == [(None, 0.0), (1, 0.0), (2, 0.0), (3, 0.0)]


def test_joins() -> None:
    pairs = "SELECT a.k, b.v FROM t AS a, t AS b WHERE a.k = b.k AND a.v < b.v"
    assert final(pairs) == [(1, 3.0), (2, 5.0)]
    assert final("SELECT a.k, b.v FROM t AS a JOIN t AS b ON a.k = b.k AND a.v < b.v") == [(1, 3.0), (2, 5.0)]
    lonely = "SELECT a.k, b.v FROM t AS a LEFT JOIN t AS b ON a.k = b.k AND a.v < b.v WHERE b.v IS NULL"
    assert final(lonely) == [(2, None), (1, None), (3, None), (None, None)]
    derived = "SELECT s.k, s.m FROM (SELECT k, max(v) AS m FROM t GROUP BY k) AS s WHERE s.m > 4 ORDER BY s.m"
    assert final(derived) == [(2, 5.0), (None, 7.0)]


def test_subqueries() -> None:
    assert final("SELECT k, v FROM t WHERE v = (SELECT max(v) FROM t)") == [(None, 7.0)]
    assert final("SELECT k, v FROM t AS a WHERE NOT EXISTS (SELECT 1 FROM t AS b WHERE b.k = a.k AND b.v > a.v)") == [
        (2, 5.0),
        (1, 3.0),
        (3, None),
        (None, 7.0),
    ]
    assert final("SELECT k, v FROM t WHERE k IN (SELECT k FROM t WHERE v > 4)") == [(2, 5.0), (2, 2.0)]
    assert final("SELECT k, v FROM t WHERE k NOT IN (SELECT k FROM t WHERE v > 4)") == []
    assert final("SELECT k, v FROM t WHERE k NOT IN (SELECT k FROM t WHERE v > 4 AND k IS NOT NULL)") == [
        (1, 1.0),
        (1, 3.0),
        (3, None),
    ]
    assert final("VALUES ((SELECT count(*) FROM t), (SELECT v FROM t WHERE k = 77))") == [(6, None)]


def test_a_subquery_of_several_rows_is_told() -> None:
    with pytest.raises(RunError, match="gave 6 rows"):
        final("VALUES (1, (SELECT v FROM t))")


def test_update_sees_the_rows_as_they_were() -> None:
    text = collecting(
        KEPT,
        f"{INSERT} UPDATE t SET v = (SELECT max(v) FROM t) + 1, k = t.k + 1 WHERE v IS NOT NULL;",
        "INSERT INTO RETURN SELECT k, v FROM t;",
    )
    assert over(text, (1, 1.0), (5, 2.0)) == [(3, 3.0), (6, 3.0)]


def test_delete_sees_the_rows_as_they_were() -> None:
    text = collecting(
        KEPT, f"{INSERT} DELETE FROM t WHERE v < (SELECT max(v) FROM t);", "INSERT INTO RETURN SELECT k, v FROM t;"
    )
    assert over(text, *ROWS) == [(3, None), (None, 7.0)]


def test_insert_into_itself_ends() -> None:
    text = collecting(
        KEPT, f"{INSERT} INSERT INTO t SELECT t.k + 10, t.v FROM t;", "INSERT INTO RETURN SELECT k, v FROM t;"
    )
    assert over(text, (1, 1.0)) == [(1, 1.0), (11, 1.0)]


def test_columns_by_name_and_first_rows() -> None:
    text = collecting(
        "TABLE t (k INT, v DOUBLE) AS VALUES (7, 0.5), (8, NULL);",
        "INSERT INTO t (v) VALUES (f.v), (f.v * 2) WHERE f.k = 1;",
        "INSERT INTO RETURN (b) SELECT v FROM t;",
    )
    assert over(text, (1, 2.0), (2, 9.0)) == [(None, 0.5), (None, None), (None, 2.0), (None, 4.0)]


def test_a_column_wins_over_a_parameter() -> None:
    text = collecting(KEPT, INSERT, "INSERT INTO RETURN SELECT k, f.v FROM t WHERE k = 1;")
    # In TERMINATE the parameters are those of the last tuple.
    assert over(text, *ROWS) == [(1, 2.0), (1, 2.0)]


def test_aggregates_call_aggregates() -> None:
    inner = """CREATE AGGREGATE product (x DOUBLE) : DOUBLE { TABLE s (p DOUBLE);
      INITIALIZE: { INSERT INTO s VALUES (x); } ITERATE: { UPDATE s SET p = p * x; }
      TERMINATE: { INSERT INTO RETURN SELECT p FROM s; } };"""
    outer = collecting(KEPT, INSERT, "INSERT INTO RETURN SELECT k, product(v) + 1 FROM t GROUP BY k ORDER BY k;")
    assert over(inner + outer, (1, 2.0), (2, 3.0), (1, 4.0)) == [(1, 9.0), (2, 4.0)]


def test_an_aggregate_that_returns_many_rows_gives_many() -> None:
    inner = """CREATE AGGREGATE running (k INT, x DOUBLE) : (n INT, s DOUBLE) { TABLE s (p DOUBLE);
      INITIALIZE: { INSERT INTO s VALUES (x); INSERT INTO RETURN VALUES (k, x); }
      ITERATE: { UPDATE s SET p = p + x; INSERT INTO RETURN SELECT k, p FROM s; } };"""
    outer = collecting(KEPT, INSERT, "INSERT INTO RETURN SELECT running(k, v) FROM t WHERE v IS NOT NULL;")
    assert over(inner + outer, (1, 2.0), (2, 3.0), (1, None), (9, 4.0)) == [(1, 2.0), (2, 5.0), (9, 9.0)]
    one = collecting(KEPT, INSERT, "INSERT INTO RETURN SELECT 0, running(k, v).s FROM t;")
    assert over(inner + one, (1, 2.0), (2, 3.0)) == [(0, 2.0), (0, 5.0)]


def test_recursion() -> None:
    """How often a number can be halved: the aggregate calls itself over a table with the half."""
    text = """CREATE AGGREGATE halvings (n INT) : INT { TABLE rest (r INT);
      INITIALIZE: ITERATE: {
        INSERT INTO rest VALUES (n div 2) WHERE n > 1;
        INSERT INTO RETURN VALUES (0) WHERE n <= 1;
        INSERT INTO RETURN SELECT 1 + halvings(r) FROM rest;
        DELETE FROM rest;
      } }"""
    assert over(text, (1,), (2,), (9,), (64,)) == [(0,), (1,), (3,), (6,)]


def test_endless_recursion_is_told() -> None:
    text = """CREATE AGGREGATE endless (n INT) : INT { TABLE rest (r INT);
      INITIALIZE: ITERATE: {
        INSERT INTO rest VALUES (n), (n + 1);
        INSERT INTO RETURN SELECT endless(r) FROM rest;
        DELETE FROM rest;
      } }"""
    with pytest.raises(RunError, match="more than 60 deep"):
        over(text, (1,))


def test_tables_of_the_catalog_are_given_from_outside() -> None:
    made = compiled("""CREATE AGGREGATE per_category (item INT) : (cat INT, n BIGINT) { TABLE seen (i INT);
      INITIALIZE: ITERATE: { INSERT INTO seen VALUES (item); }
      TERMINATE: { INSERT INTO RETURN SELECT c.category, count(*) FROM seen, item AS c WHERE c.item_id = i
                   GROUP BY c.category ORDER BY 1; } }""")
    assert [(t.name, [c.name for c in t.columns]) for t in made.body.reads] == [("item", ["item_id", "category"])]
    tables = {"item": made.table("item", [(1, 10), (2, 20), (3, 10)])}
    state = made.new(tables)
    for item in (1, 2, 3, 3, 4):
        state.add(item)
    assert state.terminate() == [(10, 3), (20, 1)]
    assert made.from_plain(state.to_plain(), tables).terminate() == [(10, 3), (20, 1)]


def test_equality_uses_an_index() -> None:
    text = """CREATE AGGREGATE counter (item INT) : (i INT, n BIGINT) { TABLE c (i INT, n BIGINT);
      INITIALIZE: ITERATE: {
        INSERT INTO c VALUES (item, 0) WHERE NOT EXISTS (SELECT 1 FROM c WHERE i = item);
        UPDATE c SET n = n + 1 WHERE i = item;
        INSERT INTO RETURN SELECT i, n FROM c WHERE i = item;
      } }"""
    made = compiled(text)
    assert "indexed=(0,)" in made.source
    assert ".rows()" not in made.source
    state = made.new()
    begin = time.perf_counter()
    for round_ in (1, 2):
        for item in range(10_000):
            assert state.add(item) == [(item, round_)]
    assert time.perf_counter() - begin < 5


def test_an_index_follows_updates_and_deletes() -> None:
    text = collecting(
        KEPT,
        """INSERT INTO t VALUES (f.k, f.v); UPDATE t SET k = 5 WHERE k = 1; DELETE FROM t WHERE k = 3;
           UPDATE t SET k = NULL WHERE k = 4;""",
        "INSERT INTO RETURN SELECT k, v FROM t WHERE k = 5;",
    )
    assert over(text, (1, 1.0), (3, 2.0), (4, 3.0), (1, 4.0), (5, 5.0)) == [(5, 1.0), (5, 4.0), (5, 5.0)]


def test_window_bodies_may_change_the_window() -> None:
    made = compiled("""CREATE WINDOW AGGREGATE w (x INT) : INT {
      INITIALIZE: ITERATE: { UPDATE inwindow SET x = inwindow.x + 1 WHERE inwindow.x < w.x;
                             INSERT INTO RETURN SELECT sum(x) FROM inwindow; }
      EXPIRE: { DELETE FROM inwindow; } }""")
    state = made.new()
    assert [state.arrive((x,), t, t - 1)[1] for t, x in enumerate([1, 5, 7])] == [[(1,)], [(7,)], [(7,)]]


def test_names_never_become_code() -> None:
    text = """CREATE AGGREGATE "f(); import os" ("a b" INT, "class" INT, "self" INT, "é" STRING)
      : ("result" INT, "x; y" STRING) {
      TABLE "__class__" ("__init__" INT, "tables" STRING);
      INITIALIZE: ITERATE: { DELETE FROM "__class__";
        INSERT INTO "__class__" VALUES ("a b" + "class" + "self", 'it''s " \\\\ {x}');
        INSERT INTO RETURN SELECT * FROM "__class__"; } }"""
    made = compiled(text)
    assert "import os" not in made.source
    assert made.new().add(1, 2, 3, "x") == [(6, "it's \" \\ {x}")]


def test_warnings() -> None:
    text = collecting(KEPT + "TABLE u (x INT); TABLE w (y INT);", INSERT, "INSERT INTO RETURN SELECT u.x, v FROM t, u;")
    found = [w.splitlines()[0] for w in defined(text).warnings]
    assert found == [
        "warning in CREATE AGGREGATE: the table 't' only grows: on a stream that does not end its state has no limit",
        "warning in CREATE AGGREGATE: the table 'u' is always empty",
        "warning in CREATE AGGREGATE: nothing ever reads the table 'w'",
    ]
    assert defined(text).warnings[0].splitlines()[1:] == [
        "  2 |         TABLE t (k INT, v DOUBLE);TABLE u (x INT); TABLE w (y INT); INITIALIZE: ITERATE: "
        "{ INSERT INTO t VALUES (f.k, f.v); } TERMINATE: { INSERT INTO RETURN SELECT u.x, v FROM t, u; } }",
        "    |               ^",
        "help: DELETE what is no longer needed, or run it only over windows that end",
    ]
    unused = "CREATE AGGREGATE f (x INT, y INT) : INT { INITIALIZE: ITERATE: { INSERT INTO RETURN VALUES (x); } }"
    assert [w.splitlines()[0] for w in defined(unused).warnings] == [
        "warning in CREATE AGGREGATE: the parameter 'y' is never used"
    ]

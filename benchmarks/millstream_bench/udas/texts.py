"""The aggregates in SQL that `uda` measures, and how a text becomes one that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.udas.body import Body

AVERAGE = """
CREATE AGGREGATE sql_avg (x DOUBLE) : DOUBLE {
  TABLE state (total DOUBLE, n BIGINT);
  INITIALIZE: { INSERT INTO state VALUES (x, 1); }
  ITERATE:    { UPDATE state SET total = total + x, n = n + 1; }
  TERMINATE:  { INSERT INTO RETURN SELECT total / n FROM state; }
}"""

MAXIMUM = """
CREATE ALGEBRAIC AGGREGATE sql_max (x DOUBLE) : DOUBLE {
  TABLE state (high DOUBLE);
  INITIALIZE: { INSERT INTO state VALUES (x); }
  ITERATE:    { UPDATE state SET high = x WHERE x > high; }
  TERMINATE:  { INSERT INTO RETURN SELECT high FROM state; }
}"""

WINDOW_AVERAGE = """
CREATE WINDOW AGGREGATE sql_avg (x DOUBLE) : DOUBLE {
  TABLE state (total DOUBLE, n BIGINT);
  INITIALIZE: { INSERT INTO state VALUES (x, 1);  INSERT INTO RETURN VALUES (x); }
  ITERATE:    { UPDATE state SET total = total + x, n = n + 1;  INSERT INTO RETURN SELECT total / n FROM state; }
  EXPIRE:     { UPDATE state SET total = total - oldest().x, n = n - 1; }
}"""

# What is returned must be what is taken for parts to combine: the average is for the SELECT to divide.
PANED_AVERAGE = """
CREATE ALGEBRAIC AGGREGATE sql_parts (total DOUBLE, n BIGINT) : (total DOUBLE, n BIGINT) {
  TABLE state (total DOUBLE, n BIGINT);
  INITIALIZE: { INSERT INTO state VALUES (total, n); }
  ITERATE:    { UPDATE state SET total = state.total + sql_parts.total, n = state.n + sql_parts.n; }
  TERMINATE:  { INSERT INTO RETURN SELECT total, n FROM state; }
}"""

# Version C of [Bai 2006]: the same arithmetic as with EXPIRE, but the aggregate itself must remember what leaves.
OWN_WINDOW_AVERAGE = """
CREATE AGGREGATE sql_avg (x DOUBLE, span BIGINT) : DOUBLE {
  TABLE state (total DOUBLE, n BIGINT, newest BIGINT) AS VALUES (0, 0, 0);
  TABLE kept (number BIGINT, x DOUBLE);
  INITIALIZE: ITERATE: {
    UPDATE state SET newest = newest + 1;
    INSERT INTO kept SELECT newest, sql_avg.x FROM state;
    UPDATE state SET total = total + sql_avg.x, n = n + 1;
    UPDATE state SET total = total - (SELECT k.x FROM kept AS k WHERE k.number = newest - span), n = n - 1
      WHERE newest > span;
    DELETE FROM kept WHERE number = (SELECT newest - span FROM state);
    INSERT INTO RETURN SELECT total / n FROM state;
  }
}"""

HASHES = "TABLE hashes (first INT, factor BIGINT) AS VALUES (0, 7919), (20, 3571), (40, 1299);"

# Counting filters: an item adds one to its counter in each of three hash tables, and the least of them is its count.
_COUNT = """
    DELETE FROM own;
    INSERT INTO own SELECT first + pmod(pmod(frequent.item * factor, 10007), 20) FROM hashes;
    INSERT INTO counters
      SELECT o.cell, 0 FROM own AS o WHERE NOT EXISTS (SELECT 1 FROM counters AS c WHERE c.cell = o.cell);
    UPDATE counters SET n = n + 1 WHERE cell IN (SELECT o.cell FROM own AS o);
"""

_ANSWER = "INSERT INTO RETURN SELECT frequent.item, min(c.n) FROM own AS o, counters AS c WHERE c.cell = o.cell"

FREQUENT = f"""
CREATE WINDOW AGGREGATE frequent (item BIGINT) : (item BIGINT, approximately INT) {{
  {HASHES}
  TABLE own (cell BIGINT);
  TABLE counters (cell BIGINT, n INT);
  INITIALIZE: ITERATE: {{ {_COUNT} {_ANSWER}; }}
  EXPIRE: {{
    UPDATE counters SET n = n - 1
      WHERE cell IN (SELECT first + pmod(pmod(oldest().item * factor, 10007), 20) FROM hashes);
  }}
}}"""

OWN_WINDOW_FREQUENT = f"""
CREATE AGGREGATE frequent (item BIGINT, span BIGINT) : (item BIGINT, approximately INT) {{
  {HASHES}
  TABLE own (cell BIGINT);
  TABLE counters (cell BIGINT, n INT);
  TABLE clock (newest BIGINT) AS VALUES (0);
  TABLE kept (number BIGINT, item BIGINT);
  TABLE leaving (item BIGINT);
  INITIALIZE: ITERATE: {{
    UPDATE clock SET newest = newest + 1;
    INSERT INTO kept SELECT newest, frequent.item FROM clock;
    DELETE FROM leaving;
    INSERT INTO leaving SELECT k.item FROM kept AS k WHERE k.number = (SELECT newest - span FROM clock);
    DELETE FROM kept WHERE number = (SELECT newest - span FROM clock);
    UPDATE counters SET n = n - 1
      WHERE cell IN (SELECT first + pmod(pmod(l.item * factor, 10007), 20) FROM hashes, leaving AS l);
    {_COUNT} {_ANSWER};
  }}
}}"""

# Only the last of the window's items is asked for, as with EXPIRE; all others are there to be counted.
NAIVE_FREQUENT = f"""
CREATE AGGREGATE frequent (item BIGINT) : (item BIGINT, approximately INT) {{
  {HASHES}
  TABLE own (cell BIGINT);
  TABLE counters (cell BIGINT, n INT);
  INITIALIZE: ITERATE: {{ {_COUNT} }}
  TERMINATE: {{ {_ANSWER}; }}
}}"""


def body_of(text: str) -> Body:
    """The body of the aggregate that a text declares."""
    from millstream.catalog.catalog import Catalog
    from millstream.catalog.definitions import UserAggregate
    from millstream.errors import RunError
    from millstream.language.binder import bind
    from millstream.language.bound import Define
    from millstream.language.parser import parse

    (statement,) = parse(text)
    bound = bind(statement, Catalog())
    if not isinstance(bound, Define) or not isinstance(bound.definition, UserAggregate):
        raise RunError("the text declares no aggregate")
    return bound.definition.body

"""What each pass does: the plan before it and after it, in a file for each, `<pass>.txt`.

A case is a query over the auction house of tests/language/auctions.py and the streams of SET_UP. The physical passes
come behind all logical ones; a comment in front of a query, as `-- tasks = 4`, is a fact for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.language.binder import bind
from millstream.language.bound import Rows, Start
from millstream.language.parser import parse
from millstream.plan import passes, physical
from millstream.plan.algebra import Node
from millstream.plan.build import build
from millstream.plan.explain import explain
from millstream.plan.physical.facts import Facts
from tests import golden
from tests.language.auctions import catalog

SET_UP = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT, d DECIMAL(10, 2)) ORDER BY ts SOURCE 'parquet:s';
CREATE STREAM marked (ts TIMESTAMP, k STRING) ORDER BY ts PUNCTUATED BY (k = '') SOURCE 'parquet:s';
CREATE STREAM full (ts TIMESTAMP, k STRING NOT NULL) ORDER BY ts SOURCE 'parquet:s';
CREATE VIEW latest KEY (k) AS SELECT k, v, ts FROM s;
CREATE TABLE t (k STRING, name STRING, at TIMESTAMP) SOURCE 'parquet:t';
CREATE AGGREGATE pairs (v INT) : (low INT, high INT) {
  TABLE seen (low INT, high INT) AS VALUES (1000, -1000);
  INITIALIZE: ITERATE: { UPDATE seen SET low = least(low, v), high = greatest(high, v); }
  TERMINATE: { INSERT INTO RETURN SELECT low, high FROM seen; }
};
"""

FACT = re.compile(r"^-- (\w+) = (\d+)$", re.MULTILINE)


def names() -> list[str]:
    return [step.__name__ for step in (*passes.PASSES, *physical.PASSES)]


def around(name: str) -> Callable[[str], str]:
    """A function that tells what a query looks like before a pass and after it."""

    def tell(text: str) -> str:
        known = catalog(SET_UP)
        facts = Facts(**{name: int(value) for name, value in FACT.findall(text)})
        bound = bind(parse(text)[0], known)
        assert isinstance(bound, Rows | Start)
        plan = build(bound.select if isinstance(bound, Rows) else bound.query)
        steps: list[Callable[[Node], Node]] = [lambda node, step=step: step(node, known) for step in passes.PASSES]
        steps += [lambda node, step=step: step(node, facts) for step in physical.PASSES]
        for each, step in zip(names(), steps, strict=True):
            before, plan = plan, step(plan)
            if each == name:
                return f"{explain(before)}\n->\n{explain(plan)}"
        raise AssertionError(name)

    return tell


@pytest.mark.parametrize("name", names())
def test_passes(name: str) -> None:
    golden.check(Path(__file__).with_name(f"{name}.txt"), around(name))

"""Many threads that define, change and look: each is answered or refused, and store and catalog stay one."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from millstream.catalog.catalog import STDOUT, Catalog, key_of
from millstream.catalog.definitions import Definition, PythonAggregate
from millstream.errors import EslError, RunError
from millstream.mill import Mill, connect
from tests.drawing import THOROUGH

THREADS, STATEMENTS = 8, 400 if THOROUGH else 60
NAMES = ("a", "b", "c", "d")


def statement(chance: random.Random) -> str:
    one, other = chance.choice(NAMES), chance.choice(NAMES)
    slack = chance.randint(1, 9)
    or_replace = chance.choice(["", "OR REPLACE "])
    columns = "(k STRING, v INT, ts TIMESTAMP) ORDER BY ts"
    return chance.choice(
        [
            f"CREATE {or_replace}STREAM {one} {columns} SOURCE 'csv:in'",
            f"CREATE {or_replace}STREAM {one} AS SELECT k, v, ts FROM {other} WHERE v > {slack}",
            f"CREATE {or_replace}TABLE {one} (k STRING) SOURCE 'csv:in'",
            f"CREATE {or_replace}SINK {one} TO 'csv:out'",
            f"CREATE STREAM IF NOT EXISTS {one} {columns}",
            f"ALTER STREAM {one} SET (SLACK = {slack} SECONDS)",
            f"ALTER STREAM {one} RENAME TO {other}",
            f"ALTER SINK {one} RENAME TO {other}",
            f"DROP STREAM {one}",
            f"DROP TABLE IF EXISTS {one}",
            f"DROP SINK {one}",
            "SHOW STREAMS",
            "SHOW QUERIES",
            f"DESCRIBE {one}",
            f"EXPLAIN SELECT k FROM {one}",
            f"SHOW VERSIONS OF STREAM {one}",
            f"SET buckets = {slack}",
        ]
    )


def texts(catalog: Catalog) -> dict[tuple[str, str], str]:
    found: list[Definition] = [d for d in catalog if d != STDOUT and not isinstance(d, PythonAggregate)]
    return {key_of(d): d.text for d in found}


def work(mill: Mill, seed: int, unexpected: list[BaseException], answered: list[str]) -> None:
    chance = random.Random(seed)
    with mill.session() as session:
        for _ in range(STATEMENTS):
            text = statement(chance)
            try:
                session.execute(text)
                answered.append(text)
            except (EslError, RunError):
                continue
            except BaseException as problem:
                problem.add_note(text)
                unexpected.append(problem)


@pytest.mark.slow
def test_store_and_catalog_stay_one(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    unexpected: list[BaseException] = []
    answered: list[str] = []
    with connect(tmp_path / "ck", base=tmp_path) as mill:
        threads = [threading.Thread(target=work, args=(mill, seed, unexpected, answered)) for seed in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if unexpected:
            raise unexpected[0]
        assert len(answered) > THREADS * STATEMENTS / 5
        assert {text.split()[0] for text in answered} >= {"CREATE", "ALTER", "DROP", "SHOW", "SET"}
        last = texts(mill.catalog)
        assert {entry.key: entry.text for entry in mill.engine.definitions.store.entries()} == last
    with connect(tmp_path / "ck", base=tmp_path, resumes=True) as mill:
        assert mill.resumed.problems == ()
        assert texts(mill.catalog) == last

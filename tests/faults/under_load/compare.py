"""What a mill has answered in the end, beside what DuckDB answers over all rows that came."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from millstream.mill import Mill
from tests.faults.under_load.kinds import INTO_FED, KEPT_NOW, TEMPLATE, Kind
from tests.faults.under_load.load import Pushes, last_row, row
from tests.faults.under_load.world import Life, World

Answer = tuple[Any, ...]


class Oracle:
    """DuckDB with the rows: `every`, and `s` without the last one; `fed` and `pushed` as they were found."""

    def __init__(self, rows: int, pushed: Iterable[int], fed: Sequence[tuple[int, int]]) -> None:
        self._db = duckdb.connect()
        self._db.execute("CREATE TABLE every (id INT, k INT, v INT, ts TIMESTAMP)")
        self._db.executemany("INSERT INTO every VALUES (?, ?, ?, ?)", [*map(row, range(rows)), last_row(rows)])
        self._db.execute(f"CREATE VIEW s AS FROM every WHERE id < {rows}")
        self._db.execute("CREATE TABLE pushed AS FROM every LIMIT 0; CREATE TABLE fed (id INT, tag INT)")
        if lines := [row(number) for number in pushed]:
            self._db.executemany("INSERT INTO pushed VALUES (?, ?, ?, ?)", lines)
        if fed := [one for one in fed if one[0] != rows]:
            self._db.executemany("INSERT INTO fed VALUES (?, ?)", fed)
        self.rows = rows

    def answers(self, kind: Kind) -> Counter[Answer]:
        """What a query of a kind must have answered."""
        return Counter(self._db.execute(kind.whole).fetchall())


def answers(table: pa.Table) -> list[tuple[Answer, int]]:
    """The rows of a table, each with its tag beside it."""
    columns = [[_plain(value) for value in table.column(name).to_pylist()] for name in table.column_names]
    tag = table.column_names.index("tag")
    return [((*one[:tag], *one[tag + 1 :]), one[tag]) for one in zip(*columns, strict=True)]


def _plain(value: object) -> object:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def check_life(life: Life, found: list[tuple[Answer, int]], oracle: Oracle, what: str) -> None:
    """A query that is there has answered each row once, under its versions in their order."""
    if life.kind.rows and life.kind.source != "pushed":
        found = [one for one in found if one[0][0] != oracle.rows]
    got, wanted = Counter(answer for answer, _ in found), oracle.answers(life.kind)
    assert not (got - wanted), f"{what}: answered too much: {_some(got - wanted)}"
    missing = wanted - got
    if life.gaps:  # it has begun anew, and passed over what was there
        sure = max(rows for rows in life.tags.values() if rows is not None)
        missing = Counter({a: n for a, n in missing.items() if isinstance(a[0], int) and a[0] >= sure})
    elif life.kind is KEPT_NOW:
        first = min((a[0] for a in got), default=oracle.rows)
        assert life.sure is None or not got or first <= life.sure, f"{what}: began at {first}, not {life.sure}"
        missing = Counter({a: n for a, n in missing.items() if a[0] >= min(first, life.sure or first)})
    assert not missing, f"{what}: missing: {_some(missing)} of {sum(wanted.values())}"
    order = list(life.tags)
    tags = [order.index(tag) for _, tag in found]
    if life.kind.rows:
        assert tags == sorted(tags), f"{what}: versions took turns: {Counter(tags)}"
    if life.kind.rows and life.kind.source == "s" and life.kind.name not in ("over", "join"):
        for place, (tag, since) in enumerate(life.tags.items()):
            if since is not None:
                after = [one for one in found if isinstance(one[0][0], int) and one[0][0] >= since]
                assert all(order.index(t) >= place for _, t in after), f"{what}: version {tag} is not at work"


def check_registration(ids: list[int], key: int, sure: int, oracle: Oracle, what: str) -> None:
    """A registration has answered all rows of its key from some row on, each once."""
    ids = [one for one in ids if one < oracle.rows]
    assert not [one for one in ids if one % 5 != key], what
    wanted = [one for one in range(oracle.rows) if one % 5 == key and one >= min([*ids, sure])]
    assert sorted(ids) == wanted, f"{what}: {_some(Counter(wanted) - Counter(ids))} or twice"


def _some(answers: Counter[Answer] | Counter[int]) -> str:
    shown = ", ".join(map(str, sorted(answers, key=str)[:5]))
    return f"{sum(answers.values())} as {shown}"


def written(folder: Path) -> list[tuple[Answer, int]]:
    """The rows (id, w, tag) of files of CSV."""
    files = sorted(folder.glob("*.csv")) if folder.is_dir() else [folder] if folder.exists() else []
    found = []
    for file in files:
        with file.open() as lines:
            found += [((int(r["id"]), int(r["w"])), int(r["tag"])) for r in csv.DictReader(lines)]
    return found


def compare(mill: Mill, world: World, rows: int, out: Path, pushes: Pushes) -> None:
    """All that is there, and what sinks hold of queries that are gone."""
    for held in world.state.queries.values():
        mill.query(held.name).process_available()
    for number, held in world.state.queries.items():  # those over `fed`, once more
        if world.lives[number].kind.source == "fed":
            mill.query(held.name).process_available()
    mill.query("all_fed").process_available()
    mill.query("all_pushed").process_available()
    fed = [(id_, tag) for (id_,), tag in answers(mill.query("all_fed").to_arrow())]
    pushed = mill.query("all_pushed").to_arrow()["id"].to_pylist()
    assert len(pushed) == len(set(pushed)), "a line came twice"
    assert pushes.acknowledged <= set(pushed) <= pushes.sent, (
        "a line that was acknowledged is gone, or one came that nobody sent"
    )
    oracle = Oracle(rows, pushed, fed)
    sinks = {"folder": written(out / "folder"), "single": written(out / "single.csv")}
    sinks["fed"] = [((id_, id_ % 5, 0), tag) for id_, tag in fed]
    for number, life in world.lives.items():
        now = world.state.queries.get(number)
        what = f"{life.kind.name}, {now.name if now else 'gone'}, tags {life.tags}"
        if life.kind.sink is not None:
            found = [one for one in sinks[life.kind.sink] if one[1] in life.tags]
            if now is None:
                _check_gone(life, found, oracle, what)
                continue
        elif now is None or life.kind is TEMPLATE:
            continue
        else:
            found = answers(mill.query(now.name).to_arrow())
        if life.kind is INTO_FED:
            found = [((id_, id_ % 5, row(id_)[2]), tag) for (id_, *_), tag in found]
        check_life(life, found, oracle, what)
    tags = {tag for life in world.lives.values() for tag in life.tags}
    assert {tag for found in sinks.values() for _, tag in found} <= tags
    for handle, registered in world.state.registrations.items():
        ids = mill.registration(handle).invoke()["id"].to_pylist()
        check_registration(ids, registered.key, world.registered[handle], oracle, f"registration {handle}")


def _check_gone(life: Life, found: list[tuple[Answer, int]], oracle: Oracle, what: str) -> None:
    """A query that is gone has written no row twice; one that never was has written none."""
    ids = [answer[0] for answer, _ in found]
    assert len(ids) == len(set(ids)), f"{what}: rows twice"
    assert life.sure is not None or not found, f"{what}: it never was, and has written"

"""SUBSCRIBE on the command line shows every row once, with its position."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from millstream.cli.subscriptions import print_rows
from millstream.store.batch_log import BatchLog
from millstream.store.position import Position
from millstream.store.view_store import ViewColumns, ViewStore

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])


def rows(*pairs: tuple[str, int]) -> pa.Table:
    return pa.table(list(map(list, zip(*pairs, strict=True))), schema=SCHEMA)


def test_rows_of_a_query_come_with_their_positions_until_it_ends(tmp_path: Path) -> None:
    log = BatchLog(SCHEMA, 100, tmp_path)
    log.add(rows(("a", 1), ("b", 2)), 3)
    log.add(rows(("c", 3)), 5)
    log.close()
    shown: list[dict[str, object]] = []
    after = Position(3, 0, log.id)
    print_rows("q", log.subscribe(after), lambda _, table: shown.extend(table.to_pylist()), lambda: False)
    assert shown == [{"position": f"3.1.{log.id}", "k": "b", "n": 2}, {"position": f"5.0.{log.id}", "k": "c", "n": 3}]


def test_all_of_a_view_has_the_position_to_go_on_behind(tmp_path: Path) -> None:
    view = ViewStore(SCHEMA, ViewColumns(("k", "n"), ("k",), None), 100, tmp_path)
    view.add(rows(("a", 1), ("b", 2)), 0)
    view.add(rows(("a", 3)), 1)
    shown: list[tuple[object, ...]] = []
    view.close()
    subscription = view.subscribe()
    print_rows("v", subscription, lambda _, t: shown.extend(tuple(r.values()) for r in t.to_pylist()), lambda: False)
    at = str(subscription.position)
    assert at.startswith("1.0.")
    assert shown == [(at, "insert", "a", 3), (at, "insert", "b", 2)]
    assert list(view.subscribe(subscription.position)) == []


def test_a_user_can_stop_it(tmp_path: Path) -> None:
    log = BatchLog(SCHEMA, 100, tmp_path)
    print_rows("q", log.subscribe(), lambda *_: None, lambda: True)
    assert not log.subscribe().ended

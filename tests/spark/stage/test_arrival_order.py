"""Numbers by arrival: the same in every bucket, and in the order of files, of parts of files and of rows."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.operators.window_aggregate_job import ARRIVAL
from millstream.spark.stage.arrival_order import (
    FILE,
    ROW,
    TASK,
    Ordering,
    Runs,
    in_order,
    number_rows,
    pack_runs,
    unpack_runs,
)
from millstream.spark.stage.packets import scatter
from tests.drawing import drawn

Piece = tuple[int, str, int, int]
"""When a file was written, its name, where a part of it begins, and how many rows that has."""

PIECES = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["/b", "/a c", "/ab"]), st.sampled_from([0, 100]), st.integers(0, 4)),
    max_size=8,
    unique_by=lambda piece: piece[1:3],
)


@drawn(60)
@given(data=st.data(), buckets=st.integers(1, 3), mixed=st.booleans())
def test_rows_are_numbered_as_they_stand_in_their_files(data: st.DataObject, buckets: int, mixed: bool) -> None:
    used: list[dict[str, int]] = [{} for _ in range(buckets)]
    found: list[dict[str, int]] = [{} for _ in range(buckets)]
    expected: list[str] = []
    for batch in range(2):
        pieces = data.draw(PIECES)
        ids = {p: [f"{batch}{p[:3]}{row}" for row in range(p[3])] for p in pieces}
        expected += [one for p in sorted(pieces) for one in ids[p]]
        packets: list[list[tuple[pa.Table, Runs]]] = [[] for _ in range(buckets)]
        for task, part in enumerate((pieces[::2], pieces[1::2])):
            for number, chunk in enumerate(_chunks(part, ids, task, mixed, data)):
                rows, runs = number_rows(chunk, task, number)
                for bucket, own in enumerate(scatter(rows, ["id"], buckets)):
                    packets[bucket].append((own, unpack_runs(pack_runs(runs))))
        for bucket in range(buckets):
            given_ = data.draw(st.permutations(packets[bucket]))  # packets travel as they like
            for table in in_order(Ordering(True, 2), 0, given_, used[bucket]) if given_ else ():
                numbers = table[ARRIVAL].to_pylist()
                assert numbers == sorted(numbers)
                found[bucket].update(zip(table["id"].to_pylist(), numbers, strict=True))
    numbers_of = {one: number for part in found for one, number in part.items()}
    assert sorted(numbers_of, key=numbers_of.__getitem__) == expected
    assert len(set(numbers_of.values())) == len(expected)


def _chunks(
    pieces: list[Piece], ids: dict[Piece, list[str]], task: int, mixed: bool, data: st.DataObject
) -> list[pa.Table]:
    """What a task reads; `mixed`, its rows have been numbered and then put into any order."""
    rows = [(one, {"time": t, "path": f"file://{p}", "block": b}) for t, p, b, n in pieces for one in ids[t, p, b, n]]
    columns = {"id": [one for one, _ in rows], FILE: [file for _, file in rows]}
    schema = {"id": pa.string(), FILE: pa.struct({"time": pa.int64(), "path": pa.string(), "block": pa.int64()})}
    if mixed:
        columns |= {TASK: [task] * len(rows), ROW: list(range(len(rows)))}
        schema |= {TASK: pa.int64(), ROW: pa.int64()}
    table = pa.table({name: pa.array(values, schema[name]) for name, values in columns.items()})
    if mixed:
        table = table.take(pa.array(data.draw(st.permutations(range(len(rows)))), pa.int64()))
    cut = data.draw(st.integers(0, len(rows)))
    return [table.slice(0, cut), table.slice(cut)]

"""Readers that are held at a place, and how far a checkpoint has read."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from millstream.connectors.history.log_source import RangeStreamReader
from millstream.history.log import Log, Part
from millstream.history.reading_positions import read_to
from millstream.history.segments import SegmentWriter


def test_a_reader_stays_where_it_is_held_and_goes_no_further_than_its_stop(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    writer = SegmentWriter(log.folder, pa.schema([("n", pa.int64())]))
    writer.add(pa.RecordBatch.from_arrays([pa.array(range(10))], names=["n"]))
    log.land(0, [Part(0, "", 0, 0, 0, writer.name, 0, 10, 10, 0, writer.seal(), 0, 9)], 0)
    hold = tmp_path / "hold"
    options = {"path": str(log.folder), "stream": "s", "start": "2", "hold": str(hold)}
    reader, until = RangeStreamReader(options), RangeStreamReader({**options, "stop": "7"})

    def latest(reader: RangeStreamReader, position: int) -> int:
        return int(reader.latestOffset({"position": position, "stream": "s"}, ReadAllAvailable())["position"])

    assert (latest(reader, 2), latest(until, 2)) == (10, 7)
    until.prepareForTriggerAvailableNow()
    assert latest(until, 2) == 7
    hold.write_text("{}")
    assert (latest(reader, 2), latest(until, 4)) == (2, 4)
    hold.write_text(json.dumps({"s": 5, "t": 9}))
    assert (latest(reader, 2), latest(reader, 6)) == (5, 6)
    hold.unlink()
    assert reader.latestOffset({"position": 2, "stream": "s"}, ReadMaxRows(3))["position"] == 5


def test_a_checkpoint_says_how_far_it_has_read_and_whether_that_is_done(tmp_path: Path) -> None:
    assert read_to(tmp_path) == ({}, True)
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    offset = json.dumps({"position": 7, "stream": "s"})
    other = json.dumps({"position": 9, "stream": "s"})
    (tmp_path / "offsets" / "4").write_text(f"v1\n{{}}\n{offset}\n0\n{other}")
    assert read_to(tmp_path) == ({"s": [7, 9]}, False)
    (tmp_path / "commits" / "4").write_text("v1\n{}")
    assert read_to(tmp_path) == ({"s": [7, 9]}, True)

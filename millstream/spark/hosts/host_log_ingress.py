"""A host that reads the log of a kept stream: ranges of positions to freight, of which each has what it begins with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from millstream.connectors.history.log_ingress import LogReading
from millstream.connectors.history.log_source import START, STOP
from millstream.spark.hosts.host_ingress import FreightBuffer, HostInlet, batch_number, counted, in_run, nothing_said
from millstream.spark.hosts.roster import read_batch_members
from millstream.spark.stage.arrival_order import Runs
from millstream.spark.stage.garbage_collector import freeze_imported_modules
from millstream.spark.stage.ingress import Arrow


def host_log_ingress(inlet: HostInlet, log: Path) -> Arrow:
    """A function for mapInArrow from ranges to freight; the first piece of each lot counts what was read.

    Ranges are cut where members begin: of what lies before, these hear nothing.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        here = read_batch_members(inlet.folder, batch_number())
        ordered = any(state.inlet.order is not None for state in here.states)
        hold = FreightBuffer(replace(inlet, ordered=ordered), here)
        for batch in batches:
            ranges, read = batch.num_rows, 0
            reader = LogReading(hold.columns, inlet.time or "", (), folder=log).opener()
            for start, stop in _ranges(batch, hold.places):
                part = pa.RecordBatch.from_pydict({START: [start], STOP: [stop]})
                for found in reader.pieces(part, ordered):
                    rows = found.rows
                    runs: Runs = ()
                    read += found.read
                    times = None if inlet.time is None else rows[inlet.time].cast(pa.int64())
                    if found.run is not None:
                        rows, runs = in_run(rows, found.run)
                    hold.take(rows, times, None, runs, start, found.promises)
                    if hold.is_full:
                        yield counted(hold.unload() or [nothing_said(inlet)], read, ranges, 0)
                        ranges, read = 0, 0
            yield counted(hold.unload() or [nothing_said(inlet)], read + reader.bad, ranges, reader.bad)
        freeze_imported_modules()

    return run


def _ranges(batch: pa.RecordBatch, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    for start, stop in zip(*(batch.column(name).to_pylist() for name in (START, STOP)), strict=True):
        yield from cut(start, stop, places)


def cut(start: int, stop: int, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """A range in pieces that begin at certain positions, where these are in it.

    >>> list(cut(10, 20, [0, 10, 14, 20, 30]))
    [(10, 14), (14, 20)]
    """
    yield from pairwise([start, *(place for place in places if start < place < stop), stop])

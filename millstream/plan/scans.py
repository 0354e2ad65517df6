"""The leaves of a plan: scans of streams and tables, and names that passes replace by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.catalog.definitions import REJECTED_SCHEMA, OnBadFile, StoredTable, Stream, Table, View
from millstream.catalog.schema import Schema
from millstream.catalog.select import HistorySpec
from millstream.intervals import spoken
from millstream.plan.algebra import Node
from millstream.plan.fingerprint import sources
from millstream.plan.fingerprint.lineage import Lineage


@dataclass(frozen=True)
class OneRow(Node):
    """A single row without columns: the input of a SELECT without FROM."""

    @property
    def schema(self) -> Schema:
        """None."""
        return Schema()

    def label(self) -> str:
        """One line of EXPLAIN."""
        return "OneRow"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Where its columns come from and what its rows depend on."""
        return Lineage()


@dataclass(frozen=True)
class Scan(Node):
    """The tuples of a stream, as its source delivers them; `again` counts the scans of it before this one.

    `ordered`, they bear the order in which they arrived; `place` is that of the source among all of the plan.
    """

    stream: Stream
    again: int = 0
    ordered: bool = False
    place: int = 0

    @property
    def schema(self) -> Schema:
        """Those of the stream."""
        return self.stream.schema

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Scan stream {self.stream.name} from {self.stream.source} ({_time(self.stream)})"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Where its columns come from and what its rows depend on."""
        return sources.stream_lineage(self.stream)


@dataclass(frozen=True)
class RejectedScan(Node):
    """The rows of a stream that did not parse: its side output REJECTED."""

    stream: Stream

    @property
    def schema(self) -> Schema:
        """The same for all streams."""
        return REJECTED_SCHEMA

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Scan rejected rows of {self.stream.name} from {self.stream.source}"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Where its columns come from and what its rows depend on."""
        return sources.rejected_lineage(self.stream)


@dataclass(frozen=True)
class LateScan(Node):
    """The tuples of a stream that come behind its low-watermark: its side output LATE."""

    stream: Stream
    number: int = 0

    @property
    def schema(self) -> Schema:
        """Those of the stream."""
        return self.stream.schema

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Scan late tuples of {self.stream.name} from {self.stream.source} ({_time(self.stream)})"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Its state is the low-watermark: columns do not matter to it."""
        return sources.late_lineage(self.stream)


@dataclass(frozen=True)
class TableScan(Node):
    """The rows of a stored table; `ordered`, with their order, as with streams."""

    table: Table
    ordered: bool = False
    place: int = 0

    @property
    def schema(self) -> Schema:
        """Those of the table."""
        return self.table.schema

    def label(self) -> str:
        """One line of EXPLAIN."""
        match self.table:
            case View():
                return f"Scan view {self.table.name}"
            case StoredTable():
                return f"Scan table {self.table.name}, stored"
        return f"Scan table {self.table.name} from {self.table.origin}"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """The table by its name: what is in it, is there when a batch begins, and is no part of any state."""
        return sources.table_lineage(self.table)


@dataclass(frozen=True)
class Reference(Node):
    """A relation by name; a pass puts its meaning here."""

    name: str

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Reference {self.name}"


@dataclass(frozen=True)
class History(Node):
    """What is kept of a stream; a pass puts its meaning here."""

    spec: HistorySpec

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"History of {self.spec.stream}"


def _time(stream: Stream) -> str:
    words = f"{stream.time_stamp.value} time stamp"
    if stream.time:
        words += f" {stream.time}"
    words += f", slack {spoken(stream.slack)}" if stream.slack else ""
    words += f", ahead {stream.ahead}" if stream.ahead else ""
    words += f", keeps {stream.keep}" if stream.keep else ""
    return words + (", bad files rejected" if stream.on_bad_file is OnBadFile.REJECT else "")

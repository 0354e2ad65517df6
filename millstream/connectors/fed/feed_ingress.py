"""Files of a fed stream that a stage reads by itself: their rows, and what the marks among them promise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.files.arrow_ingress import FileReader, Found, Reading
from millstream.progress.promise_mark import MARK, promise_of


@dataclass(frozen=True)
class FeedReading(Reading):
    """What is read of the files of a fed stream: also the marks."""

    def opener(self) -> _FeedReader:
        """What opens the files of a task."""
        return _FeedReader(self)

    @property
    def columns(self) -> pa.Schema:
        """The columns that are wanted, and the marks."""
        return self.schema.append(pa.field(MARK, pa.string()))


class _FeedReader(FileReader):
    """Opens files, and tells marks from rows."""

    def pieces(self, batch: pa.RecordBatch, ordered: bool) -> Iterator[Found]:
        """What the files of a batch hold."""
        for found in super().pieces(batch, ordered):
            told = found.rows[MARK].drop_null().to_pylist()
            rows = found.rows.filter(pc.is_null(found.rows[MARK])) if told else found.rows
            promises = tuple(map(promise_of, told))
            yield Found(found.run, rows.drop_columns([MARK]), found.read - len(told), promises)

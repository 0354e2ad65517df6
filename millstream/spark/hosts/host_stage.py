"""The stage of a host in Spark's transformWithState. What it does lies in files: see roster.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from millstream.spark.stage.stage import BLOB, NAME, VERSION
from millstream.spark.stage.stage_variables import variables_of

if TYPE_CHECKING:
    import pandas as pd

    from millstream.spark.hosts.host_bucket import Bow


class HostStage(StatefulProcessor):
    """Spark's side of it; the state has the same two variables as that of any stage."""

    def __init__(self, bow: Bow) -> None:
        self._bow = bow
        self._variables = variables_of(self)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark calls this before the first bucket."""
        self._blobs = handle.getMapState("blobs", NAME, BLOB)
        self._version = handle.getValueState("version", VERSION)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Spark calls this with all freight of a bucket in a batch."""
        from millstream.spark.hosts.freight import Piece
        from millstream.spark.hosts.host_bucket import STAGE, HostBucket, frames_of
        from millstream.spark.hosts.host_ingress import batch_number
        from millstream.spark.hosts.roster import read_batch_members
        from millstream.spark.stage.bucket_state import BucketState
        from millstream.spark.stage.garbage_collector import freeze_imported_modules

        bucket = int(key[0])
        pieces = (
            Piece(who, kind, bytes(payload))
            for frame in rows
            for who, kind, payload in zip(frame["who"], frame["kind"], frame["payload"], strict=True)
        )
        state = BucketState(self._bow.id, STAGE, bucket, self._blobs, self._version)
        here = read_batch_members(self._bow.folder, batch_number())
        yield from frames_of(HostBucket(self._bow, bucket, state).run(pieces, here))
        freeze_imported_modules()

    def close(self) -> None:
        """Spark calls this after the last bucket."""

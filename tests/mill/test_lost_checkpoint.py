"""A checkpoint that has lost batches, as it may when the power fails: other rows would come under their numbers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from millstream.connectors.places.query_place import QueryPlace
from millstream.errors import RunError
from millstream.store.batch_log import BatchLog


def test_it_is_refused(tmp_path: Path) -> None:
    schema = pa.schema([("n", pa.int64())])
    log = BatchLog(schema, 10, tmp_path / "results")
    for number in range(3):
        log.add(pa.table({"n": [number]}, schema), number)
    place = QueryPlace(tmp_path, "x", fresh=False)
    offsets = tmp_path / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    for number in range(3):
        (offsets / str(number)).touch()
    (offsets / ".2.crc").touch()
    place.check_reached(log.last - log.begin, "the results of query q")
    (offsets / "2").unlink()
    with pytest.raises(RunError, match=r"the results of query q has batch 2, and .* has come to batch 1"):
        place.check_reached(log.last - log.begin, "the results of query q")
    QueryPlace(tmp_path, "x", fresh=True).check_reached(2, "what begins anew")

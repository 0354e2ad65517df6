"""Late tuples are told by the low-watermark as it was before their batch, also after a restart."""

from __future__ import annotations

import pyarrow as pa

from millstream.operators.blobs import MemoryBlobs
from millstream.operators.tuples.late import LateTuples
from millstream.operators.window_aggregate_job import TIME
from millstream.progress.punctuation import Punctuation


def rows(*times: int | None) -> pa.Table:
    return pa.table({"id": list(range(len(times))), TIME: pa.array(times, pa.int64())})


def test_only_what_is_behind_the_low_watermark_passes() -> None:
    store = MemoryBlobs()
    operator = LateTuples(store)
    assert operator.process(rows(5, 1)) == 0
    assert list(operator.punctuate(Punctuation(4))) == []
    assert operator.process(rows(4, 3, None, 9)) == 1
    (late,) = operator.punctuate(Punctuation(2))
    assert late.to_pylist() == [{"id": 1}]
    assert list(operator.punctuate(Punctuation(8))) == []
    again = LateTuples(store)
    assert again.low_watermark == 8
    assert again.process(rows(7)) == 1


def test_the_end_of_a_stream_does_not_make_later_tuples_late() -> None:
    operator = LateTuples(MemoryBlobs())
    operator.process(rows(5))
    list(operator.punctuate(Punctuation(4)))
    list(operator.punctuate(Punctuation(0, final=True)))
    assert operator.low_watermark == 4

"""What is known of the progress of a query that feeds a stream, from what stands among its rows."""

from __future__ import annotations

import json
import time
from typing import Any

import pyarrow as pa

from millstream.progress.promise_mark import promise_mark
from millstream.spark.stage.control_words import END, enabling_mark
from millstream.spark.stage.feeder_progress import PART, TIME, WORD, FeederProgress, Part
from millstream.spark.stage.marks import AT, LEFT_OUT, MARK
from millstream.spark.stage.time_limits import TimeLimits

NUMBERS, WORDS = ("v", AT, LEFT_OUT, PART, TIME), (MARK, WORD)
SCHEMA = pa.schema([*((name, pa.int64()) for name in NUMBERS), *((name, pa.string()) for name in WORDS)])


def batch(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMA)


def row(part: int, at: int, v: int = 0, **others: Any) -> dict[str, Any]:
    return {PART: part, AT: at, TIME: at, "v": v, **others}


def test_a_source_goes_by_its_slack_by_what_was_left_out_and_by_punctuation() -> None:
    progress = FeederProgress([Part("s", slack=2)])
    assert progress.promise is None
    assert progress.take(batch(row(0, 5, 1), row(0, 9, 2, **{LEFT_OUT: 9}))).to_pylist() == [{"v": 1}]
    assert progress.promise == 7
    progress.take(batch(row(0, 30, **{MARK: promise_mark(30)})))
    assert progress.promise == 30
    of_group = json.dumps({"time": 50, "columns": ["k"]})
    progress.take(batch(row(0, 50, **{MARK: of_group})))
    assert progress.promise == 30


def test_the_slowest_input_counts_and_marks_for_silent_ones_name_streams() -> None:
    parts = [Part("s", slack=0), Part("t", slack=1)]
    progress = FeederProgress(parts)
    progress.take(batch(row(0, 40)))
    assert progress.promise is None
    progress.take(batch(row(1, 11)))
    assert progress.promise == 10
    progress.take(batch({WORD: enabling_mark("t", 25)}, {WORD: END}))
    assert progress.promise == 25
    again = FeederProgress(parts, json.loads(json.dumps(progress.state)))
    assert again.promise == 25
    other = FeederProgress([Part("s", slack=0), Part("u", slack=1)], progress.state)
    assert other.promise is None  # what was known was known of others


def test_a_stage_promises_bucket_by_bucket() -> None:
    progress = FeederProgress([Part(origins=2, promised="window_end")])

    def mark(origin: int, promise: int) -> dict[str, Any]:
        said = {"origin": origin, "promises": {"window_end": promise, "other": 99}, "final": False}
        return {PART: 0, MARK: json.dumps(said)}

    progress.take(batch(mark(0, 20)))
    assert progress.promise is None
    assert progress.take(batch(mark(1, 10), {PART: 0, "v": 7})).to_pylist() == [{"v": 7}]
    assert progress.promise == 10


def test_by_rows_and_never_beyond_what_may_move_time() -> None:
    progress = FeederProgress([Part(slack=3, by_rows=True, limits=TimeLimits(ahead=0))])
    progress.take(batch(row(0, 5, **{TIME: 100}), row(0, 6, **{TIME: 2**60}), row(0, 900, **{LEFT_OUT: 900})))
    assert progress.promise == 97
    ahead = FeederProgress([Part(origins=1, promised="t", limits=TimeLimits(ahead=0))])
    said = {"origin": 0, "promises": {"t": 2**60}, "final": False}
    ahead.take(batch({PART: 0, MARK: json.dumps(said)}))
    assert ahead.promise is not None
    assert ahead.promise <= time.time_ns() // 1000

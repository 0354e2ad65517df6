"""What a Spark user would write for each key gives the windows by their definition, whatever the batches are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from millstream_bench.udas.by_hand import answering

START = 1_767_225_600


class State:
    """Spark's state of one group, as far as it is used."""

    def __init__(self) -> None:
        self.kept: tuple[Any, ...] | None = None
        self.watermark = 0
        self.timeout: int | None = None

    @property
    def exists(self) -> bool:
        return self.kept is not None

    @property
    def get(self) -> tuple[Any, ...]:
        assert self.kept is not None
        return self.kept

    def update(self, value: tuple[Any, ...]) -> None:
        self.kept = value

    def remove(self) -> None:
        self.kept = None

    def setTimeoutTimestamp(self, millis: int) -> None:  # noqa: N802
        assert millis >= self.watermark, "Spark refuses this"
        self.timeout = millis

    def getCurrentWatermarkMs(self) -> int:  # noqa: N802
        return self.watermark


def driven(range_: int, slide: int, batch: bool, seconds: Any, values: Any, cut: int) -> Iterator[tuple[int, float]]:
    """The answers, with a watermark that follows half a second behind, as Spark moves it between batches."""
    answer, state = answering(range_, slide, batch), State()

    def call(frames: list[pd.DataFrame]) -> Iterator[tuple[int, float]]:
        for found in answer((3,), frames, state):  # type: ignore[arg-type]
            assert set(found["k"]) == {3}
            ends = found["window_end"].to_numpy("datetime64[s]").astype(np.int64) - START
            yield from zip(ends.tolist(), found["answer"].tolist(), strict=True)

    for first in range(0, len(seconds), cut):
        part = slice(first, first + cut)
        times = pd.to_datetime(((START + seconds[part]) * 1_000_000).astype(np.int64), unit="us")
        yield from call([pd.DataFrame({"ts": times, "k": 3, "v": values[part]})])
        state.watermark = max(state.watermark, int(1000 * (START + seconds[: first + cut].max())) - 500)
        if state.exists and state.timeout is not None and state.timeout < state.watermark:
            yield from call([])
    state.watermark = 1000 * (START + 10_000)
    yield from call([])
    assert not state.exists


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(("range_", "slide"), [(10, 1), (10, 10), (6, 4), (3, 5)])
def test_windows_by_their_definition(range_: int, slide: int, batch: bool) -> None:
    random = np.random.default_rng(5)
    seconds = np.arange(300) / 7 - random.random(300) * 0.4 + 1
    seconds[150:] += 40  # nothing for longer than a window
    values = random.random(300)
    found = list(driven(range_, slide, batch, seconds, values, 40))
    wanted = {}
    # Slides are counted from the epoch.
    for end in range(-(START % slide), 200, slide):
        inside = values[(seconds >= end - range_) & (seconds < end)]
        if len(inside):
            wanted[end] = inside.mean()
    assert len(found) == len(wanted)
    assert dict(found) == pytest.approx(wanted)

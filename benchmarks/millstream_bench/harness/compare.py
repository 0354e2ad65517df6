"""Engines side by side: warm each up, then take turns, so that a noisy moment hits them all."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from millstream.errors import RunError
from millstream_bench.harness.engine import Engine
from millstream_bench.harness.report import Result
from millstream_bench.harness.workload import Setting, Size, Workload

CLOSE = 1e-9
"""How far apart two sums may be, as a share: engines add up in different orders."""


def compare(
    workload: Workload,
    names: Sequence[str],
    size: Size,
    options: Mapping[str, int],
    *,
    root: Path,
    repeat: int,
    warm_up: int,
    say: Callable[[str], None],
    warm_up_seconds: int = 0,
) -> list[Result]:
    """Run a workload on several engines."""
    from millstream.spark.process.session import LOCAL_SETTINGS

    for name in names:
        if name in workload.set_up:
            workload.set_up[name](say)
    chosen = workload.complete(size, dict(options))
    told = "".join(f", {name} {value:,}" for name, value in chosen.items())
    say(f"data: {size.rows:,} rows, {size.keys:,} keys{told}, under {root}")
    data = workload.prepare(root, size, chosen)
    memory = next(s.value for s in LOCAL_SETTINGS if s.key == "spark.driver.memory")
    given = {"rows": size.rows, "keys": size.keys, **chosen}
    setting = Setting(str(data.absolute()), os.cpu_count() or 1, memory, given)
    with contextlib.ExitStack() as stack:
        engines = [stack.enter_context(Engine(workload.name, name, setting)) for name in names]
        for engine in engines:
            engine.ready()
        counted = {}
        digests = {}
        busy = {}
        for engine in engines:
            begun = time.monotonic()
            counted[engine.name], digests[engine.name] = engine.results()
            busy[engine.name] = time.monotonic() - begun
            say(f"{engine.name}: {counted[engine.name]:,} result rows")
        same = [name for name in names if name not in workload.generated]
        if workload.same_rows:
            _check_equal({name: counted[name] for name in same})
        _check_close({name: digests[name] for name in same})
        for engine in engines:
            _warm_up(engine, warm_up, warm_up_seconds - busy[engine.name], say)
        seconds: dict[str, list[float]] = {name: [] for name in names}
        for number in range(1, repeat + 1):
            for engine in engines:
                seconds[engine.name].append(engine.run())
                say(f"{engine.name}: run {number} of {repeat}: {seconds[engine.name][-1]:.2f} s")
        peaks = {e.name: e.peak_bytes for e in engines}
        return [
            Result(
                workload.name,
                e.name,
                size.rows,
                tuple(seconds[e.name]),
                counted[e.name],
                peaks[e.name],
                {"keys": size.keys, **chosen},
                e.notes(),
            )
            for e in engines
        ]


def _warm_up(engine: Engine, runs: int, seconds: float, say: Callable[[str], None]) -> None:
    """So many runs, and more of them until the time is up: compilers and caches settle with time, not with runs."""
    number, spent = 0, 0.0
    while number < runs or spent < seconds:
        taken = engine.run()
        number, spent = number + 1, spent + taken
        say(f"{engine.name}: warm-up {number}: {taken:.2f} s")


def _check_equal(counted: dict[str, int]) -> None:
    if len(set(counted.values())) > 1:
        told = ", ".join(f"{name} {rows:,}" for name, rows in counted.items())
        raise RunError(f"the engines disagree on the number of result rows: {told}")


def _check_close(digests: dict[str, dict[str, float]]) -> None:
    (first, wanted), *others = digests.items()
    for name, found in others:
        for what, value in wanted.items():
            if not math.isclose(found[what], value, rel_tol=CLOSE):
                raise RunError(f"the engines disagree on {what}: {first} {value:,}, {name} {found[what]:,}")

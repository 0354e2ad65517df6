"""`uda forms`: one aggregate built in, in SQL and in Python, each by Millstream over the same ticks.

A worker finds a workload by the name of its file, and the answers of a workload must agree: so the average in a sliding
window, the maximum there and the average with OVER are three of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path

from millstream_bench.harness.jobs import EslJob
from millstream_bench.harness.workload import Choice, Job, Setting, Workload
from millstream_bench.workloads import sliding

CLASSES = "millstream_bench.udas.classes"


def python(name: str, cls: str) -> str:
    """The statement that declares a class of ours as an aggregate of a DOUBLE."""
    return f"CREATE AGGREGATE {name} (x DOUBLE) : DOUBLE LANGUAGE PYTHON '{CLASSES}:{cls}'"


def digest(folder: Path, setting: Setting) -> dict[str, float]:
    """How many answers there are, and their sum: all engines are Millstream, and answer everything."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    rows, total = 0, 0.0
    for file in sorted(folder.glob("[!._]*.parquet")):
        found = pq.read_table(file, columns=["answer"])["answer"]
        rows += len(found)
        total += pc.sum(found).as_py() or 0
    return {"the number of answers": float(rows), "the sum of answers": total}


class Form(EslJob):
    """A job with one aggregate; `declaration` comes before the clock starts."""

    def __init__(self, setting: Setting, function: str, declaration: str = "") -> None:
        super().__init__(setting)
        self.function = function
        self._declaration = declaration

    def streams(self) -> str:
        """The stream of ticks, and the aggregate."""
        return ";".join(filter(None, (sliding.Esl(self.setting).streams(), self._declaration)))

    @abstractmethod
    def select(self) -> str:
        """The SELECT with the aggregate."""


class Grouped(Form):
    """The aggregate per key in a sliding window."""

    def select(self) -> str:
        """One aggregate."""
        range_, slide = self.setting.options["range"], self.setting.options["slide"]
        return f"""
            SELECT k, window_end, {self.function}(v) [RANGE {range_} SECONDS, SLIDE {slide} SECONDS, WA ts] AS answer
            FROM ticks GROUP BY k
        """


class Over(Form):
    """The aggregate over the last rows of each key, for every row."""

    def select(self) -> str:
        """One aggregate."""
        rows = self.setting.options["preceding"]
        return f"SELECT k, ts, {self.function}(v) OVER (PARTITION BY k ROWS {rows} PRECEDING) AS answer FROM ticks"


Engines = Mapping[str, tuple[str, str]]
"""For each engine the name of its aggregate, and the statement that declares it."""


def workload(name: str, what: str, form: Callable[[Setting, str, str], Job], engines: Engines) -> Workload:
    """A workload of forms; the first one is judged."""

    def engine(function: str, declaration: str) -> Callable[[Setting], Job]:
        return lambda setting: form(setting, function, declaration)

    return Workload(
        name,
        what,
        sliding.prepare,
        {f"millstream-{engine_}": engine(*given) for engine_, given in engines.items()},
        (*sliding.WORKLOAD.choices, Choice("preceding", 99, "rows before the current one in a frame of OVER")),
        complete=sliding.complete,
        digest=digest,
    )

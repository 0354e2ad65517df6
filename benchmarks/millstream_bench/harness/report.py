"""What a benchmark found, for programs and for people."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table


@dataclass(frozen=True)
class Result:
    """The timed runs of one engine."""

    bench: str
    engine: str
    rows: int
    runs: tuple[float, ...]
    result_rows: int
    peak_bytes: int
    options: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The median run."""
        return statistics.median(self.runs)

    @property
    def rows_per_second(self) -> float:
        """Rows taken in, per second of the median run."""
        return self.rows / self.seconds

    def to_json(self) -> dict[str, Any]:
        """The object that --json writes."""
        return {
            "bench": self.bench,
            "engine": self.engine,
            "rows": self.rows,
            "seconds": round(self.seconds, 3),
            "rows_per_s": round(self.rows_per_second),
            "result_rows": self.result_rows,
            "peak_rss_mb": round(self.peak_bytes / 2**20),
            **({"options": dict(self.options)} if self.options else {}),
            **self.notes,
        }


def ratios(results: Sequence[Result]) -> dict[str, float]:
    """The first engine's rows per second as a multiple of each other engine's: above 1 it is the faster."""
    first, *others = results
    return {f"{first.engine}/{o.engine}": round(first.rows_per_second / o.rows_per_second, 3) for o in others}


def paired_ratios(results: Sequence[Result]) -> dict[str, float]:
    """The same from run to run, and of these the median: neighbours in time share the noise of the machine."""
    first, *others = results
    return {
        f"{first.engine}/{o.engine}": round(
            statistics.median(b / a for a, b in zip(first.runs, o.runs, strict=True)), 3
        )
        for o in others
    }


def json_lines(results: Sequence[Result]) -> list[str]:
    """One object for each engine, and a last one with the ratios."""
    last = {"bench": results[0].bench, "ratios": ratios(results), "paired_ratios": paired_ratios(results)}
    return [json.dumps(o) for o in (*(r.to_json() for r in results), last)]


def table(results: Sequence[Result]) -> Table:
    """The same as a table, with the spread of the runs."""
    first = results[0]
    against, paired = ratios(results), paired_ratios(results)
    noted = "".join(f"\n{r.engine}: {what}: {value}" for r in results for what, value in r.notes.items())
    view = Table(
        title=f"{first.bench}: {first.rows:,} rows in, {first.result_rows:,} out",
        title_justify="left",
        caption=f"median of {len(first.runs)} runs after warm-up; ratio: rows/s of {first.engine} to this engine's; "
        f"paired: the same from run to run{noted}",
        caption_justify="left",
    )
    view.add_column("engine")
    for name in ("seconds", "min", "max", "rows/s", "peak MB", "ratio", "paired"):
        view.add_column(name, justify="right")
    for result in results:
        pair = f"{first.engine}/{result.engine}"
        view.add_row(
            result.engine,
            f"{result.seconds:.2f}",
            f"{min(result.runs):.2f}",
            f"{max(result.runs):.2f}",
            f"{result.rows_per_second:,.0f}",
            f"{result.peak_bytes / 2**20:,.0f}",
            f"{against[pair]:.2f}" if pair in against else "",
            f"{paired[pair]:.2f}" if pair in paired else "",
        )
    return view

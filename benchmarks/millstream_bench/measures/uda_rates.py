"""`uda udaf` as a whole: engines that get different numbers of rows, so that rates are compared and not seconds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.table import Table

from millstream.errors import SettingError, suggest
from millstream_bench.harness.compare import compare
from millstream_bench.harness.report import Result
from millstream_bench.harness.workload import Size
from millstream_bench.workloads import uda_pyflink, uda_udaf

NAME = "uda udaf"
PYFLINK = "pyflink"
PART = 4
"""PyFlink also runs over this part of its rows."""
MARGINAL = "marginal_rows_per_s"


@dataclass(frozen=True)
class Runs:
    """How often the engines run, and how often PyFlink does, which is not warmed up: a run takes a minute."""

    repeat: int
    warm_up: int
    warm_up_seconds: int
    pyflink: int


def chosen(against: str) -> tuple[list[str], bool]:
    """The engines of a comma list that get all rows, and whether PyFlink is in it.

    >>> chosen("applyinpandas, pyflink")
    (['millstream', 'applyinpandas'], True)
    """
    first, *others = uda_udaf.WORKLOAD.engines
    asked = [name for name in (part.strip().lower() for part in against.split(",")) if name]
    for name in asked:
        if name not in (*others, PYFLINK):
            raise SettingError(f"bench {NAME} has no engine '{name}': {suggest(name, [*others, PYFLINK])}")
    return list(dict.fromkeys([first, *(name for name in asked if name in others)])), PYFLINK in asked


def measure(
    against: str,
    size: Size,
    pyflink_rows: int,
    options: Mapping[str, int],
    runs: Runs,
    root: Path,
    say: Callable[[str], None],
) -> list[Result]:
    """The results, Millstream's first. PyFlink's answers are compared with those of Millstream over the same rows."""
    names, pyflink = chosen(against)
    options = uda_udaf.WORKLOAD.complete(size, dict(options))
    results = compare(
        uda_udaf.WORKLOAD,
        names,
        size,
        options,
        root=root,
        repeat=runs.repeat,
        warm_up=runs.warm_up,
        warm_up_seconds=runs.warm_up_seconds,
        say=say,
    )
    if pyflink:
        results.append(_pyflink(Size(pyflink_rows, size.keys, size.seed), options, runs, root, say))
    return results


def _pyflink(size: Size, options: Mapping[str, int], runs: Runs, root: Path, say: Callable[[str], None]) -> Result:
    """PyFlink over so many rows, and over a part of them.

    It takes long to start, and to answer the windows that are open at the end, however few rows there were. So the
    difference of the two tells how many rows it takes in a second while it works.
    """
    few = Size(max(1, size.rows // PART), size.keys, size.seed)
    found = []
    for names, rows in ((list(uda_pyflink.WORKLOAD.engines), size), ([PYFLINK], few)):
        compared = compare(
            uda_pyflink.WORKLOAD, names, rows, options, root=root, repeat=runs.pyflink, warm_up=0, say=say
        )
        found.append(compared[-1])
    return with_marginal(*found)


def with_marginal(many: Result, few: Result) -> Result:
    """The first result, noted in it the rows per second by which it is beyond the second."""
    seconds = many.seconds - few.seconds
    if seconds <= 0:
        return many
    return replace(many, notes={**many.notes, MARGINAL: round((many.rows - few.rows) / seconds)})


def ratios(results: Sequence[Result]) -> dict[str, float]:
    """The first engine's rows per second as a multiple of each other engine's, and of its marginal ones if known."""
    first, *others = results
    found = {f"{first.engine}/{o.engine}": round(first.rows_per_second / o.rows_per_second, 2) for o in others}
    for other in others:
        if marginal := other.notes.get(MARGINAL):
            found[f"{first.engine}/{other.engine} marginal"] = round(first.rows_per_second / marginal, 2)
    return found


def json_lines(results: Sequence[Result]) -> list[str]:
    """One object for each engine, and a last one with the ratios."""
    engines = [{**result.to_json(), "bench": NAME} for result in results]
    return [json.dumps(line) for line in (*engines, {"bench": NAME, "ratios": ratios(results)})]


def table(results: Sequence[Result]) -> Table:
    """The same as a table."""
    against = ratios(results)
    first = results[0].engine
    noted = "".join(
        f"\n{r.engine}, start and end left out: {r.notes[MARGINAL]:,} rows/s, "
        f"ratio {against[f'{first}/{r.engine} marginal']:,.1f}"
        for r in results
        if MARGINAL in r.notes
    )
    view = Table(
        title=f"{NAME}: the average per key in a sliding window, by the same aggregate in Python",
        title_justify="left",
        caption=f"the median run counts; ratio: rows/s of {first} to this engine's{noted}",
        caption_justify="left",
    )
    view.add_column("engine")
    for name in ("rows", "seconds", "rows/s", "peak MB", "ratio"):
        view.add_column(name, justify="right")
    for result in results:
        ratio = against.get(f"{first}/{result.engine}")
        view.add_row(
            result.engine,
            f"{result.rows:,}",
            f"{result.seconds:.2f}",
            f"{result.rows_per_second:,.0f}",
            f"{result.peak_bytes / 2**20:,.0f}",
            "" if ratio is None else f"{ratio:,.1f}",
        )
    return view

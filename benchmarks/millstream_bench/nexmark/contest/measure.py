"""`nexmark`: the queries of the NEXMark suite, each beside the same query of other engines, and all at once."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from millstream.errors import SettingError, suggest
from millstream_bench.flink import environment
from millstream_bench.harness.report import Result, paired_ratios, ratios
from millstream_bench.harness.workload import Setting
from millstream_bench.nexmark.contest import flink_queries, spark_queries
from millstream_bench.nexmark.contest.engine import QueryEngine
from millstream_bench.nexmark.contest.suite import Suite
from millstream_bench.nexmark.queries import NAMES
from millstream_bench.nexmark.settings import Settings

OWN = "millstream"
TOGETHER = "all"
"""The point at which all chosen queries run at once."""

Say = Callable[[str], None]
Point = dict[str, Any]
"""What was found for one query, in JSON's terms."""


def _esl(setting: Setting) -> Suite:
    from millstream_bench.nexmark.contest.esl import EslSuite

    return EslSuite(setting)


def _spark(setting: Setting) -> Suite:
    from millstream_bench.nexmark.contest.spark import SparkSuite

    return SparkSuite(setting)


def _flink(setting: Setting) -> Suite:
    from millstream_bench.nexmark.contest.flink import FlinkSuite

    return FlinkSuite(setting)


def _flink_suite(setting: Setting) -> Suite:
    from millstream_bench.nexmark.contest.flink import as_in_the_suite

    return as_in_the_suite(setting)


@dataclass(frozen=True)
class Kind:
    """An engine: how it is started, what it can run, why not the rest, and what must be there first."""

    start: Callable[[Setting], Suite]
    queries: frozenset[str]
    left_out: Mapping[str, str] = field(default_factory=dict)
    set_up: Callable[[Say], object] = lambda _: None


ENGINES = {
    OWN: Kind(_esl, frozenset(NAMES)),
    "spark": Kind(_spark, frozenset(spark_queries.QUERIES), spark_queries.LEFT_OUT),
    "flink": Kind(_flink, frozenset(flink_queries.QUERIES), flink_queries.LEFT_OUT, environment.ensure),
    "flink-suite": Kind(_flink_suite, frozenset(flink_queries.SUITE), {}, environment.ensure),
}


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    events: int
    rate: int
    seed: int
    files_per_batch: int
    against: tuple[str, ...]
    repeat: int
    warm_up: int
    warm_up_seconds: int

    def to_json(self) -> dict[str, Any]:
        """The settings that figures of one file have in common."""
        return {"bench": "nexmark", "rows": self.events, **asdict(self), "against": list(self.against)}


def chosen_engines(against: str) -> tuple[str, ...]:
    """The engines of a comma list, besides Millstream.

    >>> chosen_engines("spark, flink")
    ('spark', 'flink')
    """
    others = [name for name in ENGINES if name != OWN]
    return _chosen("engine", against, others)


def chosen_queries(names: str) -> tuple[str, ...]:
    """The queries of a comma list; all of them for `all`.

    >>> chosen_queries("q5,q7")
    ('q5', 'q7')
    >>> len(chosen_queries("all"))
    23
    """
    return NAMES if names.strip().lower() == TOGETHER else _chosen("query", names, NAMES)


def _chosen(what: str, text: str, known: Sequence[str]) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(filter(None, (part.strip().lower() for part in text.split(",")))))
    for name in chosen:
        if name not in known:
            raise SettingError(f"bench nexmark has no {what} '{name}': {suggest(name, known)}")
    return chosen


def measure(
    plan: Plan, names: Sequence[str], together: Sequence[str], root: Path, say: Say
) -> Iterator[tuple[str, Point]]:
    """Run queries one after the other on all engines, then several at once on Millstream; a point for each.

    One more point, `notes`, holds what engines have to say of themselves.
    """
    if not names and not together:
        return
    for name in plan.against:
        ENGINES[name].set_up(say)
    setting = _setting(plan, root, say)
    with contextlib.ExitStack() as stack:
        # An engine whose queries are not among the chosen ones need not be started.
        wanted = [OWN, *(name for name in plan.against if ENGINES[name].queries.intersection(names))]
        engines = [stack.enter_context(QueryEngine("nexmark", name, setting)) for name in wanted]
        for engine in engines:
            engine.ready()
        for query in names:
            say(f"== {query}")
            yield query, _compared(plan, query, engines, Path(setting.data), say)
        if notes := {engine.name: found for engine in engines if (found := engine.notes())}:
            yield "notes", notes
        if together:
            say(f"== all together: {', '.join(together)}")
            yield TOGETHER, _at_once(plan, together, engines[0], say)


def _setting(plan: Plan, root: Path, say: Say) -> Setting:
    """Make the data; what all engines are given."""
    from millstream.spark.process.session import LOCAL_SETTINGS
    from millstream_bench.nexmark.folder import auctions

    say(f"data: {plan.events:,} events, {plan.rate:,} in a second of their time, under {root}")
    data = auctions(root, events=plan.events, seed=plan.seed, settings=Settings(rate=plan.rate)).absolute()
    cores = os.cpu_count() or 1
    if any(name.startswith("flink") for name in plan.against):
        from millstream_bench.nexmark.contest.flink import event_parts

        event_parts(data, cores)  # here, where it counts as memory of no engine
    memory = next(s.value for s in LOCAL_SETTINGS if s.key == "spark.driver.memory")
    return Setting(str(data), cores, memory, {"rows": plan.events, "files_per_batch": plan.files_per_batch})


def _compared(plan: Plan, query: str, engines: Sequence[QueryEngine], data: Path, say: Say) -> Point:
    """One query on all engines that can run it: checked, warmed up, and then timed in turns."""
    able = [engine for engine in engines if query in ENGINES[engine.name].queries]
    left_out = {
        engine.name: ENGINES[engine.name].left_out[query]
        for engine in engines
        if query in ENGINES[engine.name].left_out
    }
    for name, reason in left_out.items():
        say(f"{name}: left out: {reason}")
    counted = {}
    for engine in able:
        engine.forget_peak()
        begun = time.monotonic()
        counted[engine.name] = _checked(query, engine, data)
        say(f"{engine.name}: {counted[engine.name]:,} result rows, as they must be")
        _warm_up(engine, query, plan.warm_up, plan.warm_up_seconds - (time.monotonic() - begun), say)
    seconds = _timed(plan, query, able, say)
    results = [Result("nexmark", e.name, plan.events, seconds[e.name], counted[e.name], e.peak_bytes) for e in able]
    return {
        "results": [_told(result) for result in results],
        "ratios": ratios(results),
        "paired_ratios": paired_ratios(results),
        **({"left_out": left_out} if left_out else {}),
    }


def _at_once(plan: Plan, names: Sequence[str], engine: QueryEngine, say: Say) -> Point:
    """Several queries in one mill."""
    engine.forget_peak()
    query = ",".join(names)
    _warm_up(engine, query, plan.warm_up, plan.warm_up_seconds, say)
    seconds = _timed(plan, query, [engine], say)
    result = Result("nexmark", engine.name, plan.events, seconds[engine.name], 0, engine.peak_bytes)
    told = {name: value for name, value in _told(result).items() if name != "result_rows"}
    return {"results": [told], "queries": list(names)}


def _checked(query: str, engine: QueryEngine, data: Path) -> int:
    from millstream_bench.nexmark.contest.check import check, check_sums

    with tempfile.TemporaryDirectory(prefix="bench-results-") as place:
        rows = Path(place) / "rows"
        if sums := engine.keep(query, rows):
            return check_sums(query, engine.name, data, sums)
        return check(query, engine.name, data, rows)


def _warm_up(engine: QueryEngine, query: str, runs: int, seconds: float, say: Say) -> None:
    """So many runs, and more of them until the time is up: compilers and caches settle with time, not with runs."""
    number, spent = 0, 0.0
    while number < runs or spent < seconds:
        taken = engine.run_query(query)
        number, spent = number + 1, spent + taken
        say(f"{engine.name}: warm-up {number}: {taken:.2f} s")


def _timed(plan: Plan, query: str, engines: Sequence[QueryEngine], say: Say) -> dict[str, tuple[float, ...]]:
    """The timed runs; engines take turns, so that a noisy moment hits them all."""
    seconds: dict[str, list[float]] = {engine.name: [] for engine in engines}
    for number in range(1, plan.repeat + 1):
        for engine in engines:
            seconds[engine.name].append(engine.run_query(query))
            say(f"{engine.name}: run {number} of {plan.repeat}: {seconds[engine.name][-1]:.2f} s")
    return {name: tuple(runs) for name, runs in seconds.items()}


def _told(result: Result) -> dict[str, Any]:
    return {
        "engine": result.engine,
        "seconds": round(result.seconds, 3),
        "min_s": round(min(result.runs), 3),
        "max_s": round(max(result.runs), 3),
        "events_per_s": round(result.rows_per_second),
        "result_rows": result.result_rows,
        "peak_rss_mb": round(result.peak_bytes / 2**20),
    }

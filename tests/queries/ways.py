"""The ways in which cases are run: each takes many cases at once, and gives what came of every one of them."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.mill import RunningQuery
from millstream.spark.hosts.host_query import MemberHandle
from tests.queries.arrivals import Arrival
from tests.queries.cases import Case
from tests.queries.oracle import Found
from tests.queries.sites import Outcomes, sites


def whole(cases: list[Case], folder: Path) -> Outcomes:
    """All rows of a stream in one file, and one batch."""
    return _at_once(cases, folder, Arrival(), buckets=None)


@dataclass(frozen=True)
class Shuffled:
    """In another order, as far as the slack allows, in several batches of Parquet, with another number of buckets."""

    seed: int = 1
    files: int = 2
    buckets: int = 3
    parquet: bool = True

    def __call__(self, cases: list[Case], folder: Path) -> Outcomes:
        """Run the cases."""
        return _at_once(cases, folder, Arrival(self.files, self.seed, self.parquet), self.buckets)


def _at_once(cases: list[Case], folder: Path, arrival: Arrival, buckets: int | None) -> Outcomes:
    with sites(cases, folder, arrival) as (there, outcomes):
        for site in there:
            site.arrive()
            site.open(buckets=buckets)
            site.start(lambda case: f"CREATE QUERY {case.query} AS {case.select}")
        for site in there:
            site.finish(partial(_rows_of, arrival=arrival))
    return outcomes


@dataclass(frozen=True)
class InCompany:
    """Cases that are started in one text, in any order, each with a twin: those over one stream share its reading.

    What a case and its twin gave are told apart by the names of the outcomes. `alone` says which ran by themselves, and
    why.
    """

    seed: int = 1
    files: int = 2
    buckets: int | None = None
    parquet: bool = False
    alone: dict[str, str] = field(default_factory=dict, repr=False)

    def __call__(self, cases: list[Case], folder: Path) -> Outcomes:
        """Run the cases."""
        drawn = random.Random(self.seed)
        arrival = Arrival(self.files, None, self.parquet)
        with sites(cases, folder, arrival) as (there, outcomes):
            for site in there:
                site.arrive()
                site.open(buckets=self.buckets)
                site.declare()
                queries = [f"CREATE QUERY {case.query}{twin} AS {case.select}" for case in site.cases for twin in TWINS]
                drawn.shuffle(queries)
                site.mill.execute(";\n".join(queries))
            for site in there:
                site.finish(partial(_rows_of, arrival=arrival))
                for case in site.cases:
                    twin = site.mill.query(f"{case.query}{TWINS[1]}")
                    for query in (site.mill.query(case.query), twin):
                        if not isinstance(query.handle, MemberHandle):
                            self.alone[case.name] = site.mill.engine.queries.alone[query.name.lower()]
                    try:
                        outcomes[f"{case.name}{TWINS[1]}"] = _rows_of(twin, case, arrival)
                    except Exception as problem:  # whatever it is, it is told under the name of the case
                        outcomes[f"{case.name}{TWINS[1]}"] = problem
        return outcomes


TWINS = ("", "_twin")


def _rows_of(query: RunningQuery, case: Case, arrival: Arrival) -> Found:
    query.wait()
    assert query.counts.batches >= arrival.batches(case.streams), "the input was not cut into batches"
    return Found(query.to_arrow(), _late(query))


@dataclass(frozen=True)
class Resumed:
    """File by file, stopped in the middle, and carried on from the checkpoint by a mill that wants other buckets.

    What both runs give lies in one sink of files, which holds each row once.
    """

    files: int = 2
    stop: int = 1
    buckets: tuple[int, int] = (3, 1)
    seed: int | None = None
    parquet: bool = False

    def __call__(self, cases: list[Case], folder: Path) -> Outcomes:
        """Run the cases."""
        late: Counter[str] = Counter()

        def stop(query: RunningQuery, case: Case) -> None:
            while query.counts.batches < self.stop and query.is_active:
                time.sleep(0.02)
            query.stop()
            if query.failure:
                query.wait()
            late[case.name] += _late(query)

        def end(query: RunningQuery, case: Case) -> None:
            query.wait()
            late[case.name] += _late(query)

        def read(base: Path, case: Case) -> Found:
            files = sorted((base / "out" / case.query).glob("[!._]*.parquet"))  # named after their batches
            assert files, "nothing was written"
            return Found(pa.concat_tables(map(pq.read_table, files)), late[case.name])

        with sites(cases, folder, Arrival(self.files, self.seed, self.parquet)) as (there, outcomes):
            for run, part in enumerate((slice(self.stop), slice(self.stop, None))):
                for site in there:
                    site.arrive(part)
                    mill = site.open(checkpoint=True, once=run > 0, buckets=self.buckets[run])
                    mill.execute("SET trigger_interval = '1 second'")  # that many queries look for files is a load
                    site.start(_into_files)
                for site in there:
                    site.finish(end if run else stop)
                    site.close()
            for site in there:
                site.collect(read)
        return outcomes


def shuffled_and_resumed(cases: list[Case], folder: Path) -> Outcomes:
    """Both ways at once, for each by itself would take twice the time; in their order where that must be."""
    shuffled, others = [c for c in cases if c.runs("shuffled")], [c for c in cases if not c.runs("shuffled")]
    outcomes = Resumed(seed=1, parquet=True)(shuffled, folder / "shuffled")
    return outcomes | Resumed()(others, folder / "in_order")


def _into_files(case: Case) -> str:
    return f"CREATE SINK {case.query} TO 'parquet:out/{case.query}'; INSERT INTO {case.query} {case.select}"


def stored(cases: list[Case], folder: Path) -> Outcomes:
    """As tables: the same rows, all of them there."""
    with sites(cases, folder, Arrival(), as_tables=True) as (there, outcomes):
        for site in there:
            site.arrive()
            site.open()
            site.ask()
    return outcomes


def _late(query: RunningQuery) -> int:
    return sum(query.counts.late.values())

"""The mill: one catalog, one engine, and statements that are carried out against them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
from pyspark.sql import SparkSession

from millstream.catalog.address import Address
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Definition, Query, Select, Sink, Stream, Table
from millstream.catalog.settings import Settings
from millstream.connectors.listeners import Listener
from millstream.connectors.paths import absolute
from millstream.connectors.registry import connector
from millstream.errors import MillstreamError
from millstream.language.binder import bind
from millstream.language.bound import Bound, Define, Measure, Plan, Rows, Start, Store
from millstream.language.parser import statements
from millstream.language.trial.calls import below
from millstream.language.trial.dry_run import dry_run
from millstream.mill.analysis import Analysis
from millstream.mill.answers import Answer
from millstream.mill.carry_out import carry_out
from millstream.mill.engine import Display, Engine, Place
from millstream.mill.home import Home
from millstream.mill.running import RunningQuery
from millstream.mill.text import csv_text
from millstream.plan.explain import explain
from millstream.spark.lower.try_calls import try_all
from millstream.spark.process.failures import told_in_a_sentence
from millstream.udas.bind.declare import adopt
from millstream.udas.python.declaration import add_folder


def print_rows(name: str, table: pa.Table) -> None:
    """Show rows as lines of CSV."""
    sys.stdout.write(csv_text(table))
    sys.stdout.flush()


class Mill:
    """One catalog, one Spark session, and the queries that run. Use it as a context manager, or call `close`.

    `checkpoint` is the folder that carries queries across restarts (None: a temporary one), `base` the folder
    that relative addresses start from. With `once`, queries end when they have read what is there. `master` and `conf`
    are for Spark; one that runs in this process already must have them. `display` shows the rows that queries send to
    the terminal.
    """

    def __init__(
        self,
        checkpoint: Path | str | None = None,
        *,
        master: str | None = None,
        base: Path | str = ".",
        once: bool = False,
        conf: Mapping[str, str] | None = None,
        display: Display = print_rows,
    ) -> None:
        self.catalog = Catalog()
        self.settings = Settings()
        self.home = Home(checkpoint)
        place = Place(Path(base).absolute(), master, conf, once, display=display)
        self.engine = Engine(place, self.home, self.catalog, self.settings)
        self.once = once
        self._closed = False
        self._adopted = adopt(self.catalog, 0)
        add_folder(str(place.base))

    # -- for users -----------------------------------------------------------------------------------------

    def execute(self, text: str) -> list[Answer]:
        """Carry out every statement of a text, in order. Nothing is done if one of them is wrong."""
        self.try_out(self.ready(text), text)
        return list(self.answers(text))

    def answers(self, text: str, base: Path | str | None = None) -> Iterator[Answer]:
        """Carry out the statements of a text one by one, giving each answer when it is there.

        Relative addresses in it start from `base`, or from the connection's own folder.
        """
        if self._closed:
            raise MillstreamError("this connection is closed")
        self._adopted = adopt(self.catalog, self._adopted)
        for statement in statements(text):
            self.engine.look_at_failures()
            bound = bind(statement, self.catalog)
            if base is not None and isinstance(bound, Define):
                bound = replace(bound, definition=_anchored(bound.definition, Path(base).absolute()))
            with told_in_a_sentence():
                answer = carry_out(bound, self.engine)
            yield answer

    def check(self, text: str) -> list[Bound]:
        """Parse and bind a text without doing anything; a mistake is raised as it would be on `execute`."""
        self._adopted = adopt(self.catalog, self._adopted)
        self.engine.look_at_failures()
        trial = deepcopy(self.catalog)
        checked = []
        for statement in statements(text):
            bound = bind(statement, trial)
            dry_run(bound, trial)
            checked.append(bound)
        return checked

    def ready(self, text: str) -> list[Bound]:
        """The same for a text that is to be carried out next: classes of aggregates are imported, and must fit."""
        checked = self.check(text)
        for bound in checked:
            if isinstance(bound, Define) and bound.load is not None and not bound.known:
                bound.load()
        return checked

    def try_out(self, checked: Sequence[Bound], text: str) -> None:
        """Let Spark judge what only it can in statements that are to be carried out next, as regular expressions.

        A stream that is defined before there is a Spark is judged with the first query over it.
        """
        selects = [select for bound in checked if (select := _carried_out(bound)) is not None]
        if not self.engine.has_spark and not selects:
            return
        judged = [(bound, text) for bound in checked if not isinstance(bound, Plan)]
        with told_in_a_sentence():
            try_all(self.spark, [*((stream, "") for stream in below(selects, self.catalog)), *judged])

    def query(self, name: str) -> RunningQuery:
        """The running query of that name."""
        return self.engine.query(name)

    @property
    def queries(self) -> tuple[RunningQuery, ...]:
        """All queries of this connection, also those that have ended."""
        return tuple(self.engine.queries.values())

    @property
    def listeners(self) -> Mapping[str, Listener]:
        """The streams that listen for producers."""
        return self.engine.listeners.by_stream

    @property
    def spark(self) -> SparkSession:
        """The Spark session, started when it is first needed."""
        return self.engine.spark

    def explain(self, asked: Select | Query) -> str:
        """How a SELECT or a query would run."""
        return explain(self.engine.physical(asked))

    def analyze(self, asked: Select | Query) -> Analysis:
        """Run a SELECT or a query over what is there, and tell what its steps did; its rows go nowhere."""
        return self.engine.analyze(asked)

    def wait(self) -> None:
        """Wait for all queries to end; the failures of all of them are raised together."""
        self.engine.wait()

    def restart(self, name: str) -> RunningQuery:
        """Start a query again that has ended, from its checkpoint; its counts go on."""
        return self.engine.restart(name)

    def close(self) -> None:
        """Stop all queries and listeners. The Spark session stays for others in this process."""
        if self._closed:
            return
        self._closed = True
        failed = any(q.failure for q in self.queries)
        self.engine.close()
        self.home.close(keep_log=failed)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


connect = Mill
"""Open a mill: `with millstream.connect(...) as mill`."""


def _carried_out(bound: Bound) -> Select | None:
    """The SELECT that a statement runs, if it does."""
    match bound:
        case Rows(select=select) | Store(select=select) | Start(query=Query(select=select)):
            return select
        case Measure(asked=asked):
            return asked if isinstance(asked, Select) else asked.select
    return None


def _anchored(definition: Definition, base: Path) -> Definition:
    """The definition with a relative address made absolute."""
    match definition:
        case Stream(source=Address() as source) if connector(source).path:
            return replace(definition, source=Address(source.kind, absolute(base, source.rest)))
        case Table(source=source) if connector(source).path:
            return replace(definition, source=Address(source.kind, absolute(base, source.rest)))
        case Sink(address=address) if connector(address).path:
            return replace(definition, address=Address(address.kind, absolute(base, address.rest)))
    return definition

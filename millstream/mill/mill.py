"""The mill: one catalog, one engine, and the sessions whose statements are carried out against them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
from pyspark.sql import SparkSession

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Query
from millstream.catalog.select import Select
from millstream.catalog.settings import Settings
from millstream.connectors.listeners import Listener
from millstream.language.bound import Bound
from millstream.mill.answers import Answer
from millstream.mill.engine.engine import Engine
from millstream.mill.engine.running import RunningQuery
from millstream.mill.engine.runtime import Place
from millstream.mill.home.home import Home
from millstream.mill.manage.queries import stop_query
from millstream.mill.manage.resume import Resumed, recover, resume, stop_unnamed
from millstream.mill.manner import Display, print_rows
from millstream.mill.reports.analysis import Analysis
from millstream.mill.session import Session
from millstream.mill.standing import carry_out as standing
from millstream.mill.standing.register_rows import register_rows
from millstream.mill.standing.registration import Registration
from millstream.mill.stored.definitions import Definitions, wants_to_run
from millstream.spark.process.failures import translate_failures
from millstream.udas.python.declaration import add_folder

__all__ = ["Mill", "connect", "print_rows", "standing"]


class Mill:
    """One catalog, one Spark session, and the queries that run. Use it as a context manager, or call `close`.

    `checkpoint` is the folder that carries queries across restarts (None: a temporary one), `base` the folder
    that relative addresses start from. With `once`, queries end when they have read what is there. `master` and `conf`
    are for Spark; one that runs in this process already must have them. `display` shows the rows that queries send to
    the terminal. With `resumes`, the definitions that were stored there are there again, and the queries that ran go
    on. `shares`: whether queries may have the reading of a stream together.

    The methods that take statements are those of a session of its own; `session` gives further ones.
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
        resumes: bool = False,
        shares: bool = True,
    ) -> None:
        self.home = Home(checkpoint)
        place = Place(Path(base).absolute(), master, conf, once, shares)
        try:
            self._definitions = Definitions(self.home, place.base)
        except BaseException:
            self.home.close()
            raise
        self.engine = Engine(place, self._definitions)
        self.once = once
        self._display = display
        self._closed = False
        self._session = Session(self.engine, place.base, display)
        self._sessions: list[Session] = [self._session]
        self.resumed = Resumed((), ())
        add_folder(str(place.base))
        recover(self._definitions)
        self._definitions.adopt_declared()
        if resumes:
            self.resume()

    # -- for users -----------------------------------------------------------------------------------------

    @property
    def catalog(self) -> Catalog:
        """The catalog in force: it is replaced when something is defined, and never changed."""
        return self._definitions.catalog

    @property
    def settings(self) -> Settings:
        """The settings of this mill's own session."""
        return self._session.settings

    def session(
        self, *, base: Path | str | None = None, display: Display | None = None, settings: Settings | None = None
    ) -> Session:
        """A further session, with a folder, a display and settings of its own."""
        folder = self.engine.base if base is None else Path(base).absolute()
        made = Session(self.engine, folder, display or self._display, settings)
        self._sessions.append(made)
        return made

    def resume(self) -> Resumed:
        """Take up the definitions that are stored in the checkpoint folder, and let the queries go on that ran."""
        self.resumed = resume(self.engine, self._display)
        return self.resumed

    @property
    def will_start_queries(self) -> bool:
        """Whether to resume means to start queries, which takes Spark."""
        return any(wants_to_run(entry) for entry in self._definitions.store.entries())

    def stop_unnamed(self) -> list[str]:
        """Store that queries which are only stored are stopped, as no statement has named them; tell their names."""
        return stop_unnamed(self._definitions)

    def execute(self, text: str) -> list[Answer]:
        """Carry out every statement of a text, in order. Nothing is done if one of them is wrong."""
        return self._session.execute(text)

    def answers(self, text: str, base: Path | str | None = None) -> Iterator[Answer]:
        """Carry out the statements of a text one by one, giving each answer when it is there.

        Relative addresses in it start from `base`, or from the connection's own folder.
        """
        return self._session.answers(text, base)

    def check(self, text: str) -> list[Bound]:
        """Parse and bind a text without doing anything; a mistake is raised as it would be on `execute`."""
        return self._session.check(text)

    def ready(self, text: str) -> list[Bound]:
        """The same for a text that is to be carried out next: classes of aggregates are imported, and must fit."""
        return self._session.ready(text)

    def try_out(self, checked: Sequence[Bound], text: str) -> None:
        """Let Spark judge what only it can in statements that are to be carried out next, as regular expressions."""
        self._session.try_out(checked, text)

    def forget(self, query: RunningQuery) -> None:
        """Stop a SELECT without a name, and leave nothing of it."""
        self._session.forget(query)

    def query(self, name: str) -> RunningQuery:
        """The running query of that name."""
        return self.engine.queries.get(name)

    @property
    def queries(self) -> tuple[RunningQuery, ...]:
        """All queries of this connection, also those that have ended."""
        return self.engine.queries.all

    @property
    def listeners(self) -> Mapping[str, Listener]:
        """The streams that listen for producers."""
        return self.engine.listeners.by_stream

    @property
    def spark(self) -> SparkSession:
        """The Spark session, started when it is first needed."""
        return self.engine.runtime.spark

    def explain(self, asked: Select | Query) -> str:
        """How a SELECT or a query would run."""
        return self._session.explain(asked)

    def analyze(self, asked: Select | Query) -> Analysis:
        """Run a SELECT or a query over what is there, and tell what its steps did; its rows go nowhere."""
        return self._session.analyze(asked)

    def halt(self) -> None:
        """Stop all queries; those that share a reading stop at one point of it, and all go on when the mill resumes."""
        self.engine.stop()

    def register(
        self, template: str, rows: pa.Table | Iterable[Sequence[object]], handles: Sequence[str | None] = ()
    ) -> list[Registration]:
        """Register rows of arguments with a template, under handles where some are given."""
        with translate_failures():
            return register_rows(self.engine.templates, template, rows, handles)

    def registration(self, handle: str) -> Registration:
        """The registration of that handle."""
        return Registration(self.engine.templates, handle)

    def begin_templates(self) -> None:
        """In a bounded run: all is registered that is to see what there is. To wait for queries says so, too."""
        self.engine.templates.let_go()

    def wait(self) -> None:
        """Wait for all queries to end; the failures of all of them are raised together."""
        self.engine.wait()

    def stop(self, query: RunningQuery) -> None:
        """Stop a query as STOP QUERY does: it does not go on when the mill resumes."""
        with self._definitions.lock:
            stop_query(query.definition, self._session.context(self.engine.base))

    def restart(self, name: str) -> RunningQuery:
        """Start a query again that has ended, from its checkpoint; its counts go on."""
        with self._definitions.lock:
            return self.engine.starter.restart(name)

    def close(self) -> None:
        """Stop all queries and listeners: they go on when the mill resumes. Spark stays for others in this process."""
        if self._closed:
            return
        self._closed = True
        failed = any(q.failure for q in self.queries)
        for session in self._sessions:
            session.close()
        self.engine.close()
        self._definitions.close()
        self.home.close(keep_log=failed)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


connect = Mill
"""Open a mill: `with millstream.connect(...) as mill`."""

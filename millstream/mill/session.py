"""A session: statements of one client, with settings, a base folder and a display of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from millstream.catalog.catalog import Catalog, Key
from millstream.catalog.definitions import Query, Stream, View
from millstream.catalog.select import Select
from millstream.catalog.settings import Settings
from millstream.errors import MillstreamError
from millstream.language.binder import bind
from millstream.language.bound import (
    Bound,
    Change,
    Changed,
    Define,
    Insertion,
    Measure,
    OpenView,
    Replace,
    Rows,
    Start,
    Store,
)
from millstream.language.parse.statements import (
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateStreamAs,
    CreateTable,
    InsertInto,
    SplitInto,
    Statement,
)
from millstream.language.parser import statements
from millstream.language.trial.calls import below
from millstream.language.trial.dry_run import dry_run
from millstream.mill.answers import Answer
from millstream.mill.context import Context
from millstream.mill.engine.engine import Engine
from millstream.mill.engine.running import RunningQuery
from millstream.mill.manage.create_queries import QueryCreation, announce_query, create_queries
from millstream.mill.manage.resume import mend
from millstream.mill.manner import Display
from millstream.mill.reports.analysis import Analysis
from millstream.mill.stored.bind_again import bind_noting
from millstream.mill.stored.claims import Claims
from millstream.mill.stored.definitions import Definitions
from millstream.mill.stored_statements import carry_out
from millstream.plan.explain import explain
from millstream.spark.lower.try_calls import try_all
from millstream.spark.process.failures import translate_failures
from millstream.udas.statements import CreateAggregate, CreatePythonAggregate


class Session:
    """Carries out statements. What SET says holds here, and unnamed SELECTs end with it; the catalog is the mill's.

    Any thread may use it, and other sessions at the same time: statements that change definitions follow one another.
    """

    def __init__(self, engine: Engine, base: Path, display: Display, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._engine = engine
        self._base = base
        self._display = display
        self._selects: dict[str, RunningQuery] = {}
        self._closed = False

    @property
    def catalog(self) -> Catalog:
        """The catalog in force."""
        return self._definitions.catalog

    def execute(self, text: str) -> list[Answer]:
        """Carry out every statement of a text, in order. Nothing is done if one of them is wrong."""
        self.try_out(self.ready(text), text)
        return list(self.answers(text))

    def answers(self, text: str, base: Path | str | None = None) -> Iterator[Answer]:
        """Carry out the statements of a text one by one, giving each answer when it is there.

        Relative addresses in it start from `base`, or from the session's own folder.
        """
        folder = self._base if base is None else Path(base).absolute()
        left: Iterator[Statement] = iter(statements(text))
        while (statement := next(left, None)) is not None:
            if not (isinstance(statement, _CREATES) and _may_wait(statement)):
                yield self._answer(statement, folder)
                continue
            given, behind, problem = self._start_together(statement, left, folder)
            yield from given
            if problem is not None:
                raise problem
            if behind is not None:
                left = chain([behind], left)

    def _start_together(
        self, first: Statement, left: Iterator[Statement], base: Path
    ) -> tuple[list[Answer], Statement | None, MillstreamError | None]:
        """Carry out statements from one that creates a query on, and start such queries together.

        It ends before a statement that could tell the difference, or with a mistake; both are given. The lock is held:
        nobody else finds a query that is there and does not run.
        """
        held: list[tuple[Bound, Answer | QueryCreation]] = []
        behind, problem = None, None
        statement: Statement | None = first
        with self._definitions.lock:
            try:
                while statement is not None and _may_wait(statement):
                    bound, at = self._bound(statement, base)
                    if isinstance(bound, Start) and not bound.known:
                        with translate_failures():
                            held.append((bound, announce_query(bound.query, at)))
                    else:
                        held.append((bound, self._mend_broken(self._carry_out(bound, at))))
                    statement = next(left, None)
                behind = statement
            except MillstreamError as mistake:  # what stands before it is carried out
                problem = mistake
            given: list[Answer] = []
            started = create_queries([one for _, one in held if isinstance(one, QueryCreation)], self._engine)
            try:
                for _, one in held:
                    if isinstance(one, QueryCreation):
                        running = next(started)
                        given.append(self._mend_broken(Answer(f"started query {running.name}", query=running)))
                    else:
                        given.append(one)
            except MillstreamError as mistake:
                problem = mistake
                for bound, _ in reversed(held[len(given) :]):
                    self._take_back(bound)
            else:
                for _ in started:  # it is at its end
                    pass
        return given, behind, problem

    def _take_back(self, bound: Bound) -> None:
        """What stands behind a query that could not be started has not been carried out."""
        if isinstance(bound, Define) and not bound.known:
            if isinstance(bound.definition, Stream):
                self._engine.streams.close(bound.definition)
            self._definitions.remove(bound.definition)

    def _bound(self, statement: Statement, base: Path) -> tuple[Bound, Context]:
        """A statement bound to the catalog in force, or to what it says again, and what it is carried out with."""
        if self._closed or self._engine.runtime.closed:
            raise MillstreamError("this connection is closed")
        self.refresh()
        claims = Claims(self._definitions)
        uses: frozenset[Key] = frozenset()
        catalog = claims.without_broken(statement, base, self.catalog)
        bound = claims.find_same(statement, base)
        if bound is None:
            bound, uses = bind_noting(statement, catalog)
        return bound, self.context(base, uses)

    def _answer(self, statement: Statement, base: Path) -> Answer:
        with self._definitions.lock:
            bound, at = self._bound(statement, base)
            if isinstance(bound, Changed):
                return self._mend_broken(self._carry_out(bound, at))
        # What changes no definition may take long, and needs nothing but the catalog that it was bound to.
        return self._carry_out(bound, at)

    def context(self, base: Path, uses: frozenset[Key] = frozenset()) -> Context:
        """What a statement of this session is carried out with."""
        return Context(self._engine, self.settings, self._display, base, self.catalog, uses)

    def _carry_out(self, bound: Bound, at: Context) -> Answer:
        with translate_failures():
            answer = carry_out(bound, at)
        if isinstance(bound, Rows) and answer.query is not None:
            self._selects[answer.query.name.lower()] = answer.query
        return answer

    def _mend_broken(self, answer: Answer) -> Answer:
        """The answer, with what was broken and is not any more."""
        if not self.catalog.broken or not (mended := mend(self._engine, self._display)):
            return answer
        head, newline, rest = answer.message.partition("\n")
        words = f"{' and '.join(mended)} {'is' if len(mended) == 1 else 'are'} mended"
        return replace(answer, message=f"{head}; {words}{newline}{rest}")

    def check(self, text: str) -> list[Bound]:
        """Parse and bind a text without doing anything; a mistake is raised as it would be on `execute`."""
        with self._definitions.lock:
            self.refresh()
            trial, claims = self.catalog.copy(), Claims(self._definitions)
        checked = []
        for statement in statements(text):
            trial = claims.without_broken(statement, self._base, trial)
            bound = claims.find_same(statement, self._base) or bind(statement, trial)
            dry_run(bound, trial)
            checked.append(bound)
        return checked

    def ready(self, text: str) -> list[Bound]:
        """The same for a text that is to be carried out next: classes of aggregates are imported, and must fit."""
        checked = self.check(text)
        for bound in checked:
            if isinstance(bound, Define | Replace) and bound.load is not None and not getattr(bound, "known", False):
                bound.load()
        return checked

    def try_out(self, checked: Sequence[Bound], text: str) -> None:
        """Let Spark judge what only it can in statements that are to be carried out next, as regular expressions.

        A stream that is defined before there is a Spark is judged with the first query over it.
        """
        selects = [select for bound in checked if (select := _select_of(bound)) is not None]
        if not self._engine.runtime.has_spark and not selects:
            return
        judged = [(b.new if isinstance(b, Replace) else b, text) for b in checked if isinstance(b, _JUDGED)]
        with translate_failures():
            try_all(self._engine.runtime.spark, [*((stream, "") for stream in below(selects, self.catalog)), *judged])

    def explain(self, asked: Select | Query) -> str:
        """How a SELECT or a query would run."""
        return explain(self._engine.planner.physical(asked, self.settings))

    def analyze(self, asked: Select | Query) -> Analysis:
        """Run a SELECT or a query over what is there, and tell what its steps did; its rows go nowhere."""
        return self._engine.bounded.analyze(asked, self.settings)

    def forget(self, query: RunningQuery) -> None:
        """Stop an unnamed SELECT, and leave nothing of it."""
        with self._definitions.lock:
            if self._selects.pop(query.name.lower(), None) is not None:
                self._engine.queries.forget_unnamed(query)

    def refresh(self) -> None:
        """Take up what has happened since the last statement: classes declared, queries failed, SELECTs ended."""
        with self._definitions.lock:
            self._definitions.adopt_declared()
            self._engine.queries.free_failed_names()
            for query in list(self._selects.values()):
                if not query.is_active and query.failure is None:
                    self.forget(query)

    def close(self) -> None:
        """Stop the SELECTs of this session; named queries go on."""
        self._closed = True
        for query in list(self._selects.values()):
            with contextlib.suppress(MillstreamError):
                query.stop()
            self.forget(query)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @property
    def _definitions(self) -> Definitions:
        return self._engine.definitions


_CREATES = (CreateQuery, InsertInto, SplitInto)
"""Statements that create queries."""

_DEFINES = (CreateStream, CreateStreamAs, CreateTable, CreateSink, CreateAggregate, CreatePythonAggregate)
"""Statements that may stand between those, and do not see whether they have been carried out."""


def _may_wait(statement: Statement) -> bool:
    """Whether a query that was announced may start after a statement: not if it takes something away."""
    return isinstance(statement, (*_CREATES, *_DEFINES)) and not getattr(statement, "or_replace", False)


_JUDGED = (Define, Store, Start, Rows, Replace, Measure, OpenView, Insertion, Change)
"""Bound statements with expressions that were written in the text; others speak of what is there already."""


def _select_of(bound: Bound) -> Select | None:
    """The SELECT that a statement runs, if it does."""
    match bound:
        case Rows(select=select) | Store(select=select) | Start(query=Query(select=select), known=False):
            return select
        case (
            Insertion(select=Select() as select)
            | Change(select=select)
            | OpenView(view=View(query=Query(select=select)))
        ):
            return select
        case Replace(new=Query(select=select)):
            return select
        case Measure(asked=asked):
            return asked if isinstance(asked, Select) else asked.select
    return None

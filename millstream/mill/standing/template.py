"""A template that runs: it takes registrations in, and shares its answers out among them."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from millstream.catalog.definitions import Query
from millstream.catalog.fit_values import fit_values
from millstream.catalog.schema import Schema
from millstream.connectors.places.query_place import QueryPlace
from millstream.errors import RunError
from millstream.mill.standing.kept_answers import NONE, NUMBER, AnswerRows, AnswersOf, KeptAnswers
from millstream.mill.standing.unclaimed import Unclaimed
from millstream.operators.match.patterns import bad_pattern
from millstream.operators.match.predicate_index import ID
from millstream.plan.physical.index_registrations import IndexedMatch
from millstream.spark.stage.registration_log import HANDLE, Entry, Kind, RegistrationLog, numbers_table

FORGET = 1000
"""A log is shortened when so many registrations have ended."""


def log_file(place: QueryPlace) -> Path:
    """Where the registrations of a template are."""
    return place.folder / "registrations" / "log"


class Template:
    """The registrations of a query with parameters.

    What is registered holds from the first batch on that has not begun: a batch begins under the same lock under which
    an entry comes to the log, and once that is on disk. So all tasks of a batch see the same registrations, also when
    it is done again.

    The first batch of a bounded run waits until the script is done, so that what it registers holds for all there is.
    What another process has registered is there to be `claimed`.
    """

    def __init__(
        self,
        query: Query,
        place: QueryPlace,
        match: IndexedMatch,
        handles: dict[str, Template],
        *,
        durable: bool,
        claimed: bool = False,
    ) -> None:
        self.query = query
        self._match = match
        self._all_handles = handles
        self._durable = durable
        self._lock = threading.Lock()
        self._open = threading.Event()
        self._begun = NONE if place.fresh else _newest_batch(Path(place.checkpoint))
        if self._begun != NONE and not log_file(place).exists():
            raise RunError(
                f"{log_file(place)} is gone\nhelp: bring it back, or DROP QUERY {query.name} to begin without "
                "registrations"
            )
        self._log = RegistrationLog(log_file(place), durable)
        self._handles: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self._given: dict[int, int] = {}
        self._next = 0
        self._answers: AnswersOf | None = None
        self._unclaimed = Unclaimed()
        try:
            self._load(fresh=place.fresh)
            self._check_loaded(claimed)
        except BaseException:
            self.close()
            raise

    # -- the query ---------------------------------------------------------------------------------------------

    @property
    def log(self) -> Path:
        """Where tasks read of registrations."""
        return self._log.file

    def keep_answers(self, place: QueryPlace, schema: pa.Schema, kept: int) -> pa.Schema:
        """Keep answers with these columns, so many rows of them; the columns as a client sees them."""
        folder = place.folder / "answers"
        if place.fresh:  # a first batch that was never complete may have left some
            shutil.rmtree(folder, ignore_errors=True)
        self._answers = KeptAnswers(folder, schema, kept, self._durable)
        return schema.set(schema.get_field_index(NUMBER), pa.field(NUMBER, pa.string()))

    def let_go(self) -> None:
        """Let the first batch begin."""
        self._open.set()

    def begin(self, batch: int) -> None:
        """A batch begins: what is registered from now on holds for later ones."""
        self._open.wait()
        with self._lock:
            self._log.sync()  # a batch that comes again after a power failure must find what it has found
            self._begun = batch

    def share_out(self, table: pa.Table) -> pa.Table:
        """Keep the answers of the batch that runs; the same with handles, without those that nobody waits for."""
        numbers = pc.unique(table[NUMBER])
        handles = [self._handles.get(number) for number in numbers.to_pylist()]
        places = pc.index_in(table[NUMBER], numbers)
        shown = pa.array(handles, pa.string()).take(places.combine_chunks())
        known = pc.is_valid(shown)
        table, shown = table.filter(known), shown.filter(known)
        if self._answers is not None and table.num_rows:
            self._answers.add(self._begun, table)
        return table.set_column(table.column_names.index(NUMBER), NUMBER, shown)

    def end(self) -> None:
        """The query has ended: its registrations can still be invoked."""
        self.let_go()
        if self._answers is not None:
            self._answers.close()

    def close(self) -> None:
        """Let go of all that it holds; the registrations stay in their log, for the next start of the query."""
        self.end()
        for handle in self._numbers:
            if self._all_handles.get(handle) is self:
                del self._all_handles[handle]
        self._log.close()

    # -- registrations -----------------------------------------------------------------------------------------

    @property
    def parameters(self) -> Schema:
        """What is registered."""
        return self.query.parameters or Schema()

    def register(self, rows: pa.Table, handles: Sequence[str | None] = ()) -> list[str]:
        """Register rows of arguments, and say the handles: those that are given, and others for the rest.

        A row that says once more what was there when the query started is not registered again: so a script may be
        carried out again by a mill that has resumed what it made.
        """
        if rows.num_columns != len(self.parameters):
            raise RunError(f"{rows.num_columns} arguments for the parameters of {self.query.name}: {self.parameters}")
        columns = zip(rows.columns, self.parameters, strict=True)
        fitted = [fit_values(values, parameter) for values, parameter in columns]
        self._check_patterns(fitted)
        with self._lock:
            first = self._next
            wanted = list(handles) or [None] * rows.num_rows
            known = self._unclaimed.claim(fitted, wanted, self._handles.get)
            new = [place for place, handle in enumerate(known) if handle is None]
            named = self._name_handles([wanted[place] for place in new], first)
            numbers = range(first, first + len(new))
            if new:
                arrays = [pa.array(numbers, pa.int64()), pa.array(named, pa.string())]
                arrays += [values.take(pa.array(new)) for values in fitted]
                table = pa.table(arrays, names=[ID, HANDLE, *self.parameters.names])
                self._log.append(Entry(Kind.ADD, self._begun + 1, table))
            self._keep(numbers, named)
            self._all_handles.update((handle.lower(), self) for handle in named)
        free = iter(named)
        return [next(free) if handle is None else handle for handle in known]

    def _check_patterns(self, fitted: Sequence[pa.Array]) -> None:
        """A text that LIKE cannot read would end the query in its first tuple."""
        prefix = self._match.terms.prefix
        if prefix is None or prefix.suffix is None:
            return
        names = [item.name for item in self._match.step.columns if item.name != self._match.step.registration]
        if (bad := bad_pattern(prefix.parameter(pa.table(fitted, names=names)), prefix.suffix)) is not None:
            raise RunError(
                f"'{bad}' is no pattern of LIKE: a backslash stands before %, _ or a backslash\n"
                "help: write a backslash twice, or use startswith in the template, which knows no patterns"
            )

    def unregister(self, handles: Sequence[str]) -> None:
        """End registrations: from the next batch on no tuple meets them, and nothing more is answered for them."""
        with self._lock:
            numbers = [self.number(handle) for handle in handles]
            self._log.append(Entry(Kind.REMOVE, self._begun + 1, numbers_table(numbers)))
            self._forget(numbers)

    def number(self, handle: str) -> int:
        """The number of a registration."""
        found = self._numbers.get(handle.lower())
        if found is None:
            raise RunError(f"no registration '{handle}': it has ended")
        return found

    def handle(self, handle: str) -> str:
        """A handle as it was given."""
        return self._handles[self.number(handle)]

    @property
    def count(self) -> int:
        """How many registrations it has."""
        return len(self._handles)

    def table(self) -> pa.Table:
        """All registrations: their handles and arguments."""
        with self._lock:
            added = [entry.table for entry in self._log.entries() if entry.kind is Kind.ADD]
            alive = pa.array(sorted(self._handles), pa.int64())
        fields = [(ID, pa.int64()), (HANDLE, pa.string()), *self._types]
        whole = pa.concat_tables([pa.schema(fields).empty_table(), *added])
        return whole.filter(pc.is_in(whole[ID], alive)).drop_columns([ID])

    # -- answers -----------------------------------------------------------------------------------------------

    def invoke(self, handle: str, since: datetime | None = None, last: bool = False) -> AnswerRows:
        """The answers of a registration that are kept: all, those since a time, or those not given to it yet."""
        number = self.number(handle)
        assert self._answers is not None  # noqa: S101  (since it runs)
        found = self._answers.of(number, self._given.get(number, NONE) if last else NONE)
        if last and found.newest > self._given.get(number, NONE):
            told = pa.table({ID: pa.array([number], pa.int64()), "batch": pa.array([found.newest], pa.int64())})
            with self._lock:
                self._log.append(Entry(Kind.GIVEN, self._begun + 1, told))
                self._log.sync()  # what is given once is not given again
                self._given[number] = found.newest
        rows = found.rows
        if since is not None:
            rows = rows.filter(pc.greater_equal(rows[self._time], pa.scalar(since, pa.timestamp("us", tz="UTC"))))
        return found._replace(rows=rows.drop_columns([NUMBER]))

    def wait_for_answers(self, handle: str, after: int, timeout: float | None) -> AnswerRows | None:
        """The answers of a registration with later batches, when there are some; None if there will be none in time."""
        number = self.number(handle)
        assert self._answers is not None  # noqa: S101
        if not self._answers.wait(after, timeout):
            return None
        found = self._answers.of(number, after)
        return found._replace(rows=found.rows.drop_columns([NUMBER]))

    @property
    def _time(self) -> str:
        time = self.query.select.time
        if time is None:
            raise RunError(
                f"the answers of {self.query.name} have no time stamp, so SINCE a time says nothing\n"
                "help: use SINCE LAST, or let the SELECT keep the time stamp of its stream"
            )
        return time

    # -- the log -----------------------------------------------------------------------------------------------

    def _load(self, fresh: bool) -> None:
        """Take in what is registered; where the query begins anew, all of it holds from its first batch on."""
        entries = self._log.entries()
        self._check(entries)
        if fresh:
            entries = tuple(Entry(e.kind, 0, e.table) for e in entries if e.kind is not Kind.GIVEN)
            self._log.rewrite(entries)
        for entry in entries:
            numbers = entry.table[ID].to_pylist()
            match entry.kind:
                case Kind.ADD:
                    self._keep(numbers, entry.table[HANDLE].to_pylist())
                case Kind.REMOVE:
                    self._forget(numbers)
                case Kind.GIVEN:
                    self._given.update(zip(numbers, entry.table["batch"].to_pylist(), strict=True))
                case Kind.NEXT:
                    self._next = max(self._next, *numbers)
        if self._next - self._first > 2 * len(self._handles) + FORGET:
            self._shorten(entries)

    def _check_loaded(self, claimed: bool) -> None:
        """Refuse registrations that this SELECT cannot have; the others are there to be claimed, if they are so."""
        for handle in self._numbers:
            if (other := self._all_handles.get(handle)) is not None and other is not self:
                raise RunError(
                    f"{other.query.name} has a registration '{handle}', and so has {self.query.name}\n"
                    f"help: UNREGISTER {handle}, and start {self.query.name} then"
                )
        self._all_handles.update(dict.fromkeys(self._numbers, self))
        table = self.table()
        self._check_patterns([table[name] for name in self.parameters.names])
        if claimed:
            numbers = [self._numbers[handle.lower()] for handle in table[HANDLE].to_pylist()]
            self._unclaimed.add(numbers, [table[name] for name in self.parameters.names])

    @property
    def _types(self) -> list[tuple[str, pa.DataType]]:
        return [(parameter.name, fit_values(pa.nulls(0), parameter).type) for parameter in self.parameters]

    @property
    def _first(self) -> int:
        return min(self._handles, default=0)

    def _shorten(self, entries: Sequence[Entry]) -> None:
        """Leave out of the log what has ended for all batches that can come again."""
        past = [entry for entry in entries if entry.batch <= self._begun]
        ended = {n for e in past if e.kind is Kind.REMOVE for n in e.table[ID].to_pylist()}
        gone = pa.array(sorted(ended), pa.int64())
        kept = [Entry(Kind.NEXT, 0, numbers_table([self._next]))]
        for entry in entries:
            table = entry.table
            if entry in past:
                table = table.filter(pc.invert(pc.is_in(table[ID], gone)))
            if table.num_rows and entry.kind is not Kind.NEXT:
                kept.append(Entry(entry.kind, entry.batch, table))
        self._log.rewrite(kept)

    def _check(self, entries: Iterable[Entry]) -> None:
        wanted = self._types
        for entry in entries:
            if entry.kind is Kind.ADD:
                known = [(field.name, field.type) for field in entry.table.schema][2:]
                if known != wanted:
                    words = ", ".join(f"{name} {type_}" for name, type_ in known)
                    raise RunError(
                        f"the registrations of {self.query.name} have other parameters: {words}\n"
                        f"help: give the query another name, or DROP QUERY {self.query.name} as it was, "
                        "which ends its registrations"
                    )
                return

    def _name_handles(self, handles: Sequence[str | None], first: int) -> list[str]:
        """A handle for each registration; all must be free."""
        named: list[str] = []
        taken: set[str] = set()
        for number, given in enumerate(handles, first):
            handle = given or self._free_handle(number, taken)
            low = handle.lower()
            if low in taken or low in self._all_handles:
                of = self._all_handles[low].query.name if low in self._all_handles else self.query.name
                raise RunError(
                    f"there is already a registration '{handle}', of {of}\n"
                    f"help: choose another handle, or UNREGISTER {handle} first"
                )
            taken.add(low)
            named.append(handle)
        return named

    def _free_handle(self, number: int, taken: set[str]) -> str:
        handle = f"{self.query.name}_{number + 1}"
        while handle.lower() in self._all_handles or handle.lower() in taken:
            handle = f"{handle}_"
        return handle

    def _keep(self, numbers: Iterable[int], handles: Iterable[str]) -> None:
        for number, handle in zip(numbers, handles, strict=True):
            self._handles[number] = handle
            self._numbers[handle.lower()] = number
            self._next = max(self._next, number + 1)

    def _forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            handle = self._handles.pop(number).lower()
            del self._numbers[handle]
            if self._all_handles.get(handle) is self:
                del self._all_handles[handle]
            self._given.pop(number, None)


def _newest_batch(checkpoint: Path) -> int:
    """The newest batch that Spark has planned; it may be done again."""
    names = (file.name for file in (checkpoint / "offsets").glob("[0-9]*"))
    return max((int(name) for name in names if name.isdigit()), default=NONE)

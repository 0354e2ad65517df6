"""The templates of a mill, and which of them a handle belongs to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import islice

import pyarrow as pa

from millstream.catalog.definitions import Query
from millstream.connectors.places.query_place import QueryPlace
from millstream.errors import RunError, suggest
from millstream.mill.standing.kept_answers import AnswerRows
from millstream.mill.standing.template import Template
from millstream.plan.algebra import Node
from millstream.plan.column_origins import steps
from millstream.plan.physical.index_registrations import IndexedMatch


class Templates:
    """The templates that run or have ended here, by name; handles are known to all of them.

    What changes registrations follows one another under the `lock`, so that none goes to a template that has been
    replaced meanwhile. `defined` are the names of all templates in the catalog.
    """

    def __init__(self, defined: Callable[[], Sequence[str]], *, durable: bool) -> None:
        self.lock = threading.RLock()
        self._defined = defined
        self._durable = durable
        self._by_name: dict[str, Template] = {}
        self._handles: dict[str, Template] = {}
        self._seen: set[str] = set()

    # -- queries -----------------------------------------------------------------------------------------------

    def open(self, query: Query, place: QueryPlace, plan: Node, waits: bool) -> Template:
        """The registrations of a query that starts; its first batch waits until it is let go, if it `waits`."""
        with self.lock:
            self.forget(query.name)
            match = next(step for step in steps(plan) if isinstance(step, IndexedMatch))
            template = Template(
                query, place, match, self._handles, durable=self._durable, claimed=query.name.lower() not in self._seen
            )
            self._seen.add(query.name.lower())
            self._by_name[query.name.lower()] = template
        if not waits:
            template.let_go()
        return template

    def rename(self, old: str, query: Query) -> None:
        """A template that does not run has another name, or another SELECT: then its answers so far are not of that."""
        with self.lock:
            self._seen.add(query.name.lower())
            template = self._by_name.get(old.lower())
            if template is not None and template.query.select.schema != query.select.schema:
                self.forget(old)
            elif template is not None:
                template.query = query
                del self._by_name[old.lower()]
                self._by_name[query.name.lower()] = template

    def forget(self, name: str) -> None:
        """A template goes, or starts anew."""
        with self.lock:
            if (template := self._by_name.pop(name.lower(), None)) is not None:
                template.close()

    def let_go(self) -> None:
        """Let the first batches begin that wait for registrations."""
        for template in self.all():
            template.let_go()

    def close(self) -> None:
        """Let go of all files."""
        with self.lock:
            for name in list(self._by_name):
                self.forget(name)

    # -- registrations -----------------------------------------------------------------------------------------

    def register(self, name: str, rows: pa.Table, handles: Sequence[str | None] = ()) -> tuple[list[str], int]:
        """Register rows of arguments with a template, and say the handles, and how many of them are new."""
        with self.lock:
            template = self.named(name)
            before = template.count
            return template.register(rows, handles), template.count - before

    def unregister(self, handles: Sequence[str]) -> None:
        """End registrations, perhaps of several templates; none ends if one of them is unknown."""
        with self.lock:
            by_template: dict[int, tuple[Template, list[str]]] = {}
            for handle in handles:
                template = self.of(handle)
                by_template.setdefault(id(template), (template, []))[1].append(handle)
            for template, theirs in by_template.values():
                template.unregister(theirs)

    def invoke(self, handle: str, since: datetime | None = None, last: bool = False) -> AnswerRows:
        """The answers of a registration that are kept."""
        template = self.of(handle)
        template.let_go()  # who asks for answers, in a bounded run, has registered what is to have some
        with self.lock:
            return self.of(handle).invoke(handle, since, last)

    def named(self, name: str) -> Template:
        """The template of that name."""
        found = self._by_name.get(name.lower())
        if found is None:
            hint = next((_start_it(known) for known in self.asleep if known.lower() == name.lower()), None)
            known = [template.query.name for template in self.all()]
            hint = hint or suggest(name, known) or "CREATE QUERY makes one"
            raise RunError(f"no template '{name}' runs\nhelp: {hint}")
        return found

    def of(self, handle: str) -> Template:
        """The template of a registration."""
        found = self._handles.get(handle.lower())
        if found is None:
            with self.lock:
                known = [template.handle(low) for low, template in islice(self._handles.items(), 1000)]
            asleep = [f"if it is one of {name}, {_start_it(name)}" for name in self.asleep]
            hint = "; ".join([suggest(handle, known) or "REGISTER makes one", *asleep])
            raise RunError(f"no registration '{handle}'\nhelp: {hint}")
        return found

    def all(self) -> list[Template]:
        """All of them."""
        with self.lock:
            return list(self._by_name.values())

    @property
    def asleep(self) -> list[str]:
        """The templates whose registrations are not known, as they have not been started here."""
        return [name for name in self._defined() if name.lower() not in self._by_name]


def _start_it(name: str) -> str:
    return f"START QUERY {name}, which brings its registrations back"

"""User-defined aggregates made ready to run: `compile_aggregate` turns a body into a class."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from millstream.udas.body import Body
from millstream.udas.generated.classes import generate, wanted_indexes
from millstream.udas.generated.runtime import NAMES
from millstream.udas.generated.states import NO_TABLES, State
from millstream.udas.generated.tables import Table


class Compiled:
    """An aggregate that can run: `new()` is the state of a group that has seen nothing.

    It travels between processes as its body, and its states as what `to_plain` gives.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        self.source, name = generate(body)
        filename = f"<aggregate {body.name}>"
        # So that a traceback shows the line of the generated code.
        linecache.cache[filename] = (len(self.source), None, self.source.splitlines(keepends=True), filename)
        module = dict(NAMES)
        # All text of users has been parsed, typed and written anew: names are made by Namer, literals by repr.
        exec(compile(self.source, filename, "exec"), module)  # noqa: S102
        self.state_class: type[State] = module[name]
        self._indexes = wanted_indexes(body)

    def new(self, tables: Mapping[str, Table] = NO_TABLES) -> State:
        """A state that has seen nothing; `tables` are those of the catalog that the bodies read, see `table`."""
        return self.state_class(tables)

    def from_plain(self, plain: Sequence[Any], tables: Mapping[str, Table] = NO_TABLES) -> State:
        """The state that `State.to_plain` gave."""
        return self.state_class.from_plain(plain, tables)

    def table(self, name: str, rows: Iterable[Sequence[Any]]) -> Table:
        """The rows of a table of the catalog, with the indexes that the bodies want."""
        read = next(t for t in self.body.reads if t.name == name)
        return Table(len(read.columns), rows, self._indexes.get(name, ()))

    def __reduce__(self) -> tuple[Callable[[Body], Compiled], tuple[Body]]:
        return compile_aggregate, (self.body,)


@lru_cache(maxsize=256)
def compile_aggregate(body: Body) -> Compiled:
    """The class that an aggregate's body becomes."""
    return Compiled(body)

"""The contract of a connector. There is no Spark here: a query is bound without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from millstream.catalog.definitions import Options
from millstream.catalog.options import Option
from millstream.catalog.schema import Column


class Role(Enum):
    """What an address can serve as, in the words of errors."""

    STREAM = "source"
    TABLE = "table"
    SINK = "sink"


class Problem(NamedTuple):
    """Why something cannot be, and the way out."""

    message: str
    hint: str


def _nothing(*_: object) -> Problem | None:
    return None


@dataclass(frozen=True)
class Connector:
    """One kind of address, `kind:place`, as the binder, the shell and the mill ask about it.

    `source.py` beside the spec has a function for each role in which it is read, `stream` and `table`, and `rejected`
    where a stream is read otherwise for its rejected rows; `sink.py` has `sink`; `listener.py` has `listen` if rows
    are `pushed` to us.

    `example` is a place as it could be written, empty if the kind takes none. `path`: the place is a path, relative to
    the script. `files`: Spark reads files there, and each row is known by its file. `only_spark` says why no stage
    reads them with Arrow, and is empty if one can. A sink whose path ends in one of `file_endings` is a single file.
    `clocked`: time stamps come from the clock, so that none runs ahead of it. `kept`: rows stay in this process, for
    the program to read. An `internal` address is none that a user writes: we make it. `versions`: the place is a folder
    of the home with versions that never change.

    The functions say what is wrong with a place; with a column, given the options; and with a column where bad files
    are to be rejected.
    """

    kind: str
    roles: frozenset[Role]
    example: str = ""
    source_options: Mapping[str, Option] = field(default_factory=dict)
    sink_options: Mapping[str, Option] = field(default_factory=dict)
    path: bool = False
    files: bool = False
    file_endings: frozenset[str] = frozenset()
    clocked: bool = False
    only_spark: str = "only Spark reads such sources"
    pushed: bool = False
    kept: bool = False
    internal: bool = False
    versions: bool = False
    place_problem: Callable[[str], Problem | None] = _nothing
    column_problem: Callable[[Column, Options], Problem | None] = _nothing
    reject_problem: Callable[[Column], Problem | None] = _nothing

    def options(self, role: Role) -> Mapping[str, Option]:
        """The options that it takes in a role."""
        return self.sink_options if role is Role.SINK else self.source_options

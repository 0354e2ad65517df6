"""The place where a query runs, as lowering needs to know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import Column, DataFrame, SparkSession

from millstream.catalog.address import Address
from millstream.catalog.definitions import Table
from millstream.connectors.places.paths import absolute
from millstream.errors import RunError
from millstream.history.moments import Bound
from millstream.store.feed import Feed

if TYPE_CHECKING:
    from millstream.connectors.places.query_place import QueryPlace
    from millstream.spark.stage.feeder_progress import Part


def _observed(frame: DataFrame, name: str, metrics: Sequence[Column]) -> DataFrame:
    return frame.observe(name, *metrics)


def _nowhere(stream: str) -> Path:
    raise NotImplementedError(f"nothing is kept of {stream} here")


class Stored(Protocol):
    """The rows that are kept in the home: each version of them is a folder of files that never change."""

    def folder_of(self, table: Table) -> Path:
        """The newest version of a table or a view."""
        ...

    def newest(self, folder: Path) -> Path | None:
        """The newest version of that of which a folder holds one; None if it is no folder of ours."""
        ...

    def hold(self, folder: Path) -> None:
        """Keep a version: someone reads it."""
        ...

    def feed(self, folder: Path) -> Feed:
        """The rows that are put into a stream, by their folder."""
        ...

    def let_go(self, folder: Path) -> None:
        """Say that who held a version reads it no more."""
        ...


class _NothingStored:
    """A place without a home."""

    def folder_of(self, table: Table) -> Path:
        raise RunError(f"{table.name} is kept in a home, and there is none here")

    def newest(self, folder: Path) -> Path | None:
        return None

    def hold(self, folder: Path) -> None:
        pass

    def feed(self, folder: Path) -> Feed:
        return Feed(folder)

    def let_go(self, folder: Path) -> None:
        pass


@dataclass(frozen=True)
class Host:
    """A session, the folder that relative addresses start from, and where streams from the network are logged.

    `place` is where the query that is being lowered keeps its state, if it has any.
    `once`: whether queries end with what is there. `passes_over`: whether sources are read without a row of them.
    `judges`: whether Spark looks how far tuples run ahead of the clock though they go on with marks. `feeds` are the
    inputs of a query that feeds a stream.
    `history_of` says where the log of a kept stream is, `starts` from where in it the query reads, and `stops` to
    where, if it does not go on. As long as there is a file `hold`, it reads no more of any history.
    `registrations` is the log of those of a template.
    `written` are the folders that queries of this mill write to, and the marks of their files. `observe` gives a frame
    a name for metrics that Spark computes of its rows. `stored` has the tables and views of the home.
    """

    spark: SparkSession
    base: Path
    log_of: Callable[[str], Path]
    place: QueryPlace | None = None
    once: bool = False
    judges: bool = False
    feeds: tuple[Part, ...] = ()
    passes_over: bool = False
    written: dict[str, set[str]] = field(default_factory=dict)
    history_of: Callable[[str], Path] = _nowhere
    starts: Mapping[str, Bound] = field(default_factory=dict)
    stops: Mapping[str, int] = field(default_factory=dict)
    hold: Path | None = None
    registrations: Path | None = None
    observe: Callable[[DataFrame, str, Sequence[Column]], DataFrame] = _observed
    stored: Stored = field(default_factory=_NothingStored)

    def path(self, address: Address) -> str:
        """The absolute form of an address's place."""
        return absolute(Path(address.base or self.base), address.rest)

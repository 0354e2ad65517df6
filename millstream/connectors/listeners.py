"""Listeners of streams whose rows are pushed, by the kind of their address."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol

from millstream.catalog.definitions import Stream
from millstream.connectors.registry import connector, options_of
from millstream.errors import RunError


class Listener(Protocol):
    """Takes rows from producers, and keeps them in a log that the source reads."""

    @property
    def host(self) -> str:
        """The address it listens on."""
        ...

    @property
    def port(self) -> int:
        """The port it listens on."""
        ...

    @property
    def failure(self) -> RunError | None:
        """Why it stopped by itself, if it did."""
        ...

    def start(self) -> object:
        """Begin to listen."""
        ...

    def stop(self) -> None:
        """Stop; what was acknowledged is in the log."""
        ...


def trim_pushed(stream: Stream, log: Path, checkpoint: Path) -> None:
    """Let go of rows that were pushed to a stream and that its reader has landed; nobody else reads them."""
    if stream.source is None or not connector(stream.source).pushed or not log.exists():
        return
    done = max((int(file.name) for file in (checkpoint / "commits").glob("[0-9]*")), default=-1)
    try:
        lines = (checkpoint / "offsets" / str(done)).read_text().split("\n")
    except FileNotFoundError:  # nothing is landed yet, or a later batch has ended meanwhile
        return
    module = import_module(f"millstream.connectors.{stream.source.kind}.listener")
    module.trim(log, min((json.loads(line)["position"] for line in lines if '"position"' in line), default=0))


def listener_of(stream: Stream, log: Path, on_failure: Callable[[RunError], None]) -> Listener | None:
    """The listener of a stream, None if nothing is pushed to it."""
    if stream.source is None or not connector(stream.source).pushed:
        return None
    module = import_module(f"millstream.connectors.{stream.source.kind}.listener")
    listener: Listener = module.listen(stream, options_of(stream), log, on_failure)
    return listener

"""The ports that streams listen on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from millstream.catalog.definitions import Stream
from millstream.connectors.listeners import Listener, listener_of
from millstream.errors import RunError
from millstream.mill.home.home import Home

OnLoss = Callable[[str, RunError], None]
"""Is told which stream nothing comes into any more, and why."""


class Listeners:
    """One listener for each stream that producers push to. A run over what is there does not listen: it reads logs."""

    def __init__(self, home: Home, listens: bool) -> None:
        self.by_stream: dict[str, Listener] = {}
        self._names: dict[str, list[str]] = {}
        self._home = home
        self._listens = listens

    def open(self, stream: Stream, lost: OnLoss) -> str:
        """Open the port of a stream if it has one, and say so."""
        log = self._home.log_of(stream.name)
        name = [stream.name]
        listener = listener_of(stream, log, lambda problem: lost(name[0], problem)) if self._listens else None
        if listener is None:
            return ""
        listener.start()
        self.by_stream[stream.name.lower()] = listener
        self._names[stream.name.lower()] = name
        kept = "; its rows are kept only while this runs, unless a checkpoint folder is given"
        return f", listening on {listener.host}:{listener.port}{kept if self._home.temporary else ''}"

    def check(self, streams: Iterable[Stream]) -> None:
        """Raise the failure of a listener that one of the streams needs."""
        for stream in streams:
            listener = self.by_stream.get(stream.name.lower())
            if listener is not None and listener.failure is not None:
                raise listener.failure

    def rename(self, old: str, new: str) -> None:
        """Say that a stream has another name; its port stays open."""
        if old.lower() in self.by_stream:
            self.by_stream[new.lower()] = self.by_stream.pop(old.lower())
            self._names[new.lower()] = self._names.pop(old.lower())
            self._names[new.lower()][0] = new

    def close(self, stream: Stream) -> None:
        """Close the port of a stream, if it has one."""
        if listener := self.by_stream.pop(stream.name.lower(), None):
            listener.stop()

    def stop(self) -> None:
        """Close all ports."""
        for listener in self.by_stream.values():
            listener.stop()

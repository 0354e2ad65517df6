"""The streams of a mill that rows come into: their ports, their readers, and what is put into them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from millstream.catalog.address import Address
from millstream.catalog.definitions import Stream
from millstream.mill.engine.runtime import Runtime
from millstream.mill.home.home import Home
from millstream.mill.streams.fed_columns import check_fed
from millstream.mill.streams.listeners import Listeners, OnLoss
from millstream.mill.streams.readers import Readers


class OpenStreams:
    """Opens and closes streams; `lost` is told when nothing comes into one any more."""

    def __init__(self, home: Home, runtime: Runtime, lost: OnLoss) -> None:
        self._home, self._runtime, self._lost = home, runtime, lost
        self._once = runtime.place.once
        self.listeners = Listeners(home, listens=not self._once)
        self.readers = Readers(home, runtime.stored, self._once, lost)

    def open(self, stream: Stream) -> str:
        """Let rows of a stream come in, if they are pushed or kept, and say so."""
        if stream.source is None:
            check_fed(stream, self._home.feed_folder(stream.name))
        note = self.listen(stream)
        if stream.keep is not None:
            try:
                self.land([stream])
            except BaseException:
                self.close(stream)
                raise
        return note

    def listen(self, stream: Stream) -> str:
        """Open the port of a stream if it has one, and say so."""
        return self.listeners.open(stream, self._lost)

    def land(self, streams: Iterable[Stream]) -> None:
        """Let the readers of kept streams run; where queries run once, these have landed what is there then."""
        if kept := {stream.name: self._with_source(stream) for stream in streams if stream.keep is not None}:
            host = self._runtime.host()
            self.readers.run(kept.values(), lambda: replace(host, once=self._once), self._runtime.progress)

    def _with_source(self, stream: Stream) -> Stream:
        """A stream as its reader knows it: what has no source is read from what is put into it."""
        if stream.source is not None:
            return stream
        feed = self._runtime.stored.feed(self._home.feed_folder(stream.name))
        return replace(stream, source=Address("fed", str(feed.folder)), fed=True)

    def close(self, stream: Stream) -> None:
        """Let no more rows of a stream come in; what was kept of it stays."""
        self.listeners.close(stream)
        self.readers.close(stream)

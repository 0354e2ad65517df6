"""The listener behind `tcp:` sources: lands the lines of many producers in a log and acknowledges them."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from millstream.catalog.definitions import Stream
from millstream.connectors.tcp import landing_log
from millstream.connectors.tcp.landing_log import SEGMENT_BYTES, LogWriter
from millstream.connectors.tcp.limits import Limits, limits_of, refuse_for_room, refuse_open_lines, refuse_silent
from millstream.errors import RunError, SettingError

LOOPBACK = "127.0.0.1"
RECEIVE_BYTES = 256 << 10
LINGER_SECONDS = 5.0

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_EMPTY_LINE = b"\n\n"


def listen(
    stream: Stream, options: dict[str, object], log: Path, on_failure: Callable[[RunError], None]
) -> TcpListener:
    """The listener of a stream; it has to be started."""
    assert stream.source is not None  # noqa: S101  (a stream without source has no listener)
    place = str(options["host"]), int(stream.source.rest), log
    return TcpListener(*place, limits=limits_of(options), on_failure=on_failure)


def trim(log: Path, position: int) -> None:
    """Let go of the lines before a position, as far as whole files hold them."""
    landing_log.trim(log, position)


class TcpListener:
    """Takes newline-ended lines from many connections, and answers `OK <n>` once n of them are durable.

    One thread does everything in rounds: receive what is there, append it, sync once for all producers,
    acknowledge. While it waits for the disk it does not receive, so TCP itself slows the producers down
    and memory stays bounded by the limits. `on_failure` is called, in that thread, if it cannot go on.

    A producer that never reads should half-close and wait for the close from here, or be served with
    `acknowledge=False`: a socket closed with unread answers in it throws away what it had still to send.
    """

    def __init__(
        self,
        host: str = LOOPBACK,
        port: int = 0,
        log_dir: Path | str = "",
        *,
        acknowledge: bool = True,
        segment_bytes: int = SEGMENT_BYTES,
        limits: Limits | None = None,
        on_failure: Callable[[RunError], None] = lambda problem: None,
    ) -> None:
        if not str(log_dir):
            raise SettingError("a listener needs 'log_dir': the directory of the log where lines land")
        self._host = host
        self._port = port
        self._log_dir = Path(log_dir)
        self._acknowledge = acknowledge
        self._segment_bytes = segment_bytes
        self._limits = limits or Limits()
        self._on_failure = on_failure
        self._producers: dict[socket.socket, _Producer] = {}
        self._newcomers: list[_Producer] = []
        self._thread: threading.Thread | None = None
        self._failure: RunError | None = None
        self._rows = 0
        self._connections = 0

    @property
    def host(self) -> str:
        """The address it listens on."""
        return self._host

    @property
    def port(self) -> int:
        """The port it listens on: the one that was found free, if 0 was asked for and it has started."""
        return self._port

    @property
    def rows(self) -> int:
        """How many rows it has made durable since it started."""
        return self._rows

    @property
    def connections(self) -> int:
        """How many producers have connected since it started."""
        return self._connections

    @property
    def failure(self) -> RunError | None:
        """Why it stopped by itself, if it did: from then on nothing is taken and nothing acknowledged."""
        return self._failure

    def start(self) -> TcpListener:
        """Open the port and the log, and begin to listen."""
        if self._thread is not None:
            raise RunError(f"the listener on {self._host}:{self._port} runs already: stop it first")
        self._door = self._bind()
        try:
            self._log = LogWriter(self._log_dir, self._segment_bytes)
        except BaseException:
            self._door.close()
            raise
        self._port = self._door.getsockname()[1]
        self._failure = None
        self._stopping = False
        self._bell, self._bell_end = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._door, _READ)
        self._selector.register(self._bell_end, _READ)
        self._thread = threading.Thread(target=self._run, name=f"tcp:{self._port}", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop listening and close every connection; what was acknowledged is in the log."""
        if self._thread is None:
            return
        self._stopping = True
        self._bell.send(b"!")
        self._thread.join()
        self._thread = None
        self._bell.close()
        self._bell_end.close()

    def __enter__(self) -> TcpListener:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _bind(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        try:
            door = socket.create_server((self._host, self._port), family=family, backlog=256)
        except (OSError, OverflowError) as error:
            # Python adds the address to the reason, and it stands here already.
            reason = str(getattr(error, "strerror", None) or error).partition(" (while")[0]
            raise RunError(
                f"cannot listen on {self._host}:{self._port}: {reason}; stop what uses that address, "
                "or choose another port (0 takes any that is free)"
            ) from error
        door.setblocking(False)
        return door

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._round()
        except Exception as error:
            self._failure = RunError(
                f"the listener on {self._host}:{self._port} stopped, as it could not land lines in "
                f"'{self._log_dir}': {error}; what it acknowledged is safe: mend that and start it again"
            )
            self._failure.__cause__ = error
            for producer in self._producers.values():
                producer.refuse("the log cannot be written")
                producer.speak(acknowledge=False)
        finally:
            for producer in list(self._producers.values()):
                self._forget(producer)
            self._selector.close()
            self._door.close()
            self._log.close()
        if self._failure is not None:
            self._on_failure(self._failure)

    def _round(self) -> None:
        """Receive, append, sync once for all, acknowledge."""
        heard: dict[_Producer, int] = {}
        for key, events in self._selector.select(timeout=self._patience()):
            if key.fileobj is self._door:
                self._admit()
            elif key.fileobj is not self._bell_end:
                producer: _Producer = key.data
                heard[producer] = self._land(producer) if events & _READ else 0
        if any(heard.values()):
            self._log.sync()
            self._rows += sum(heard.values())
        for producer in heard:
            # Whatever it has sent is durable by now: empty lines need no disk.
            producer.durable = producer.lines
            self._settle(producer)
        self._end_some()

    def _patience(self) -> float | None:
        """How long to wait for the next thing to do."""
        if any(p.deadline for p in self._producers.values()):
            return LINGER_SECONDS / 5
        return self._limits.timeout / 4 if self._producers else None

    def _end_some(self) -> None:
        """End the connections that go beyond the limits, and those that had time to hear why."""
        held, newcomers = list(self._producers.values()), self._newcomers
        self._newcomers = []
        refused = [*refuse_silent(held, self._limits), *refuse_open_lines(held, self._limits)]
        there = [producer for producer in held if producer not in newcomers]
        for newcomer in newcomers:
            there.append(newcomer)
            refused += refuse_for_room(there, newcomer, self._limits)
        for producer in refused:
            if producer.sock in self._producers:
                self._settle(producer)
        now = time.monotonic()
        for producer in [p for p in self._producers.values() if p.deadline and p.deadline < now]:
            self._forget(producer)

    def _admit(self) -> None:
        while True:
            try:
                sock, address = self._door.accept()
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError:
                return  # nobody is waiting any more
            sock.setblocking(False)
            producer = self._producers[sock] = _Producer(sock, self._limits.line_bytes, str(address[0]))
            self._connections += 1
            self._selector.register(sock, _READ, producer)
            self._newcomers.append(producer)

    def _land(self, producer: _Producer) -> int:
        """Append what a producer has sent; returns the number of rows."""
        lines = producer.hear()
        if lines:
            self._log.append(lines)
        return lines.count(b"\n")

    def _settle(self, producer: _Producer) -> None:
        """Say what there is to say, and decide what to wait for next."""
        silent = producer.speak(acknowledge=self._acknowledge)
        if producer.gone or (producer.ended and silent):
            self._forget(producer)
            return
        if producer.last_word and silent:
            producer.hang_up()
        # After its end of file a socket is always readable: waiting for that would spin.
        events = (0 if producer.ended else _READ) | (0 if silent else _WRITE)
        self._selector.modify(producer.sock, events, producer)

    def _forget(self, producer: _Producer) -> None:
        self._selector.unregister(producer.sock)
        self._producers.pop(producer.sock).sock.close()


class _Producer:
    """One connection: the line it has not finished yet, and what is still to be said to it."""

    def __init__(self, sock: socket.socket, line_bytes: int, address: str = LOOPBACK) -> None:
        self.sock = sock
        self.address = address
        self.silent_since = time.monotonic()
        self.lines = 0
        self.durable = 0
        self.ended = False
        self.gone = False
        self.last_word = b""
        self.deadline = 0.0
        self._line_bytes = line_bytes
        self._open_line = bytearray()
        self._told = 0
        self._told_final = False
        self._unsaid = b""
        self._unsent = b""

    @property
    def open_bytes(self) -> int:
        """How many bytes of a line without an end it has sent."""
        return len(self._open_line)

    def hear(self) -> bytes:
        """Receive once; returns the lines to land, whole and without the empty ones."""
        try:
            received = self.sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return b""
        except OSError:
            self.gone = True  # a reset: its open line is torn, and is dropped with it
            return b""
        if not received:
            self.ended = True
            self._expire()
            received = b"\n" if self._open_line else b""
        if self.last_word:
            return b""
        cut = received.rfind(b"\n") + 1
        lines = b""
        if cut:
            self.silent_since = time.monotonic()
            lines = self._fit(bytes(self._open_line) + received[:cut])
            self._open_line.clear()
        self._keep_open(received[cut:])
        return lines

    def speak(self, *, acknowledge: bool) -> bool:
        """Send without waiting; returns whether all is said. Only the newest acknowledgement is kept."""
        while True:
            if not self._unsent:
                self._unsent = self._next_words(acknowledge)
            if not self._unsent:
                return True
            try:
                sent = self.sock.send(self._unsent)
            except BlockingIOError:
                return False
            except OSError:
                self.gone = True
                return True
            self._unsent = self._unsent[sent:]

    def refuse(self, reason: str) -> None:
        """Take no more from this producer, and tell it why."""
        if not self.last_word:
            self.last_word = self._unsaid = b"ERR %s\n" % reason.encode()
            self._open_line.clear()
            self._expire()

    def hang_up(self) -> None:
        """End this side, but go on listening: a close with unheard bytes would wipe out the last word."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self.gone = True

    def _next_words(self, acknowledge: bool) -> bytes:
        final = self.ended and not self.last_word and not self._told_final
        if acknowledge and (final or self.durable > self._told):
            self._told = self.durable
            self._told_final = final
            return b"OK %d\n" % self.durable
        words, self._unsaid = self._unsaid, b""
        return words

    def _keep_open(self, rest: bytes) -> None:
        if self.last_word:
            return
        self._open_line += rest
        if len(self._open_line) > self._line_bytes + self._open_line.endswith(b"\r"):
            self._refuse_long_line()

    def _fit(self, lines: bytes) -> bytes:
        """Count the lines, drop the empty ones, and stop before one that is too long."""
        if b"\r" in lines:
            lines = lines.replace(b"\r\n", b"\n")
        if len(lines) > self._line_bytes:
            lines = self._before_long_line(lines)
        self.lines += lines.count(b"\n")
        if lines.startswith(b"\n") or _EMPTY_LINE in lines:
            lines = b"".join(line + b"\n" for line in lines.split(b"\n") if line)
        return lines

    def _before_long_line(self, lines: bytes) -> bytes:
        at = 0
        for line in lines.split(b"\n"):
            if len(line) > self._line_bytes:
                self._refuse_long_line()
                return lines[:at]
            at += len(line) + 1
        return lines

    def _refuse_long_line(self) -> None:
        self.refuse(f"line longer than {self._line_bytes} bytes")

    def _expire(self) -> None:
        self.deadline = time.monotonic() + LINGER_SECONDS

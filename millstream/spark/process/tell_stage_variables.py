"""The process that Spark starts to learn the state variables of a stage; see `stage_variables.py`.

It runs as a script (`python_of_workers.sh` sees to that) and imports nothing but what Python has loaded anyway or loads
in a millisecond: that is the point of it. A processor that is not a stage goes to PySpark's own module.
"""

from __future__ import annotations

import os
import socket
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # to import typing would take as long as the rest
    from typing import Any

LEAD = b"millstream:stage-variables:"
"""What stands before the requests in a pickled stage."""

FAILED = -2
"""How a Python process tells Spark that it failed (SpecialLengths.PYTHON_EXCEPTION_THROWN)."""

INT = struct.Struct("!i")
SEVERAL = struct.Struct("!ii")

PATIENCE_SECONDS = 30.0
"""After that nobody will answer: Spark itself waits for 10 seconds, or less if the query is stopped while it starts."""


def pack_requests(requests: list[bytes]) -> bytes:
    r"""The requests as they go over the wire, with their number and length before them.

    >>> unpack_requests(b"..." + pack_requests([b"one", b"two"]) + b"...")
    (2, b'\x00\x00\x00\x00\x00\x00\x00\x03one\x00\x00\x00\x00\x00\x00\x00\x03two')
    """
    sent = b"".join(SEVERAL.pack(0, len(request)) + request for request in requests)
    return LEAD + SEVERAL.pack(len(requests), len(sent)) + sent


def unpack_requests(command: bytes) -> tuple[int, bytes] | None:
    """The number of requests and their bytes on the wire, if the command has any.

    >>> unpack_requests(b"another processor")
    """
    at = command.find(LEAD)
    if at < 0:
        return None
    count, length = SEVERAL.unpack_from(command, at + len(LEAD))
    start = at + len(LEAD) + SEVERAL.size
    return count, command[start : start + length]


class ReplayedInput:
    """A file some of which was read already: that comes again first."""

    def __init__(self, read: bytes, file: Any) -> None:
        self._read = read
        self._file = file

    def read(self, size: int) -> bytes:
        """The next bytes."""
        known, self._read = self._read[:size], self._read[size:]
        return known + (self._file.read(size - len(known)) if len(known) < size else b"")


def connect(place: str | int) -> socket.socket:
    """A connection to a port of this machine, or to a socket in a folder."""
    if isinstance(place, str):
        found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        found.connect(place)
        return found
    host = "::1" if os.environ.get("SPARK_PREFER_IPV6", "false").lower() == "true" else "127.0.0.1"
    found = socket.create_connection((host, place))
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def read_int(file: Any) -> int:
    """The next number."""
    data = file.read(INT.size)
    if len(data) < INT.size:
        raise EOFError("Spark closed the connection")
    return int(INT.unpack(data)[0])


def read_bytes(file: Any) -> bytes:
    """The next bytes with their length before them."""
    length = read_int(file)
    return file.read(length) if length > 0 else b""


def write(file: Any, *parts: int | bytes) -> None:
    """Send numbers, and bytes with their length before them."""
    file.writelines(INT.pack(part) if isinstance(part, int) else INT.pack(len(part)) + part for part in parts)
    file.flush()


def to_spark() -> Any:
    """The connection on which Spark waits for this process."""
    path = os.environ.get("PYTHON_WORKER_FACTORY_SOCK_PATH")
    found = connect(path or int(os.environ["PYTHON_WORKER_FACTORY_PORT"]))
    file = found.makefile("rwb", 65536)
    if path is None:
        found.settimeout(PATIENCE_SECONDS)
        write(file, os.environ["PYTHON_WORKER_FACTORY_SECRET"].encode())
        if read_bytes(file) != b"ok":
            raise PermissionError("Spark did not accept this process")
        found.settimeout(None)
    write(file, os.getpid())
    return file


def note_port() -> None:
    """Write down the port that this process was called from: Spark has forgotten it now; see `close_leaks.py`."""
    folder, port = os.environ.get("MILLSTREAM_PORTS"), os.environ.get("PYTHON_WORKER_FACTORY_PORT")
    if folder and port:
        try:
            os.close(os.open(f"{folder}/{port}", os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError:  # the run is over, or the disk is full: the port stays as long as Spark's process
            return


def answer(file: Any) -> None:
    """Tell Spark the variables, if the processor it asks about is a stage."""
    version = read_bytes(file)
    command = read_bytes(file)
    note_port()
    found = unpack_requests(command)
    if found is None:
        hand_on(ReplayedInput(b"".join(INT.pack(len(part)) + part for part in (version, command)), file), file)
        return
    write(file, 0)
    place = read_int(file)
    state = connect(read_bytes(file).decode() if place == -1 else place).makefile("rwb", 65536)
    read_bytes(file)  # the type of the key, which the variables do not depend on
    count, requests = found
    state.write(requests)
    state.flush()
    for _ in range(count):
        if problem := read_bytes(state):  # a reply says nothing unless something is wrong
            write(file, FAILED, b"Spark refused a state variable of a stage: " + problem)
            return
    write(file, 0)


def hand_on(infile: ReplayedInput, outfile: Any) -> None:
    """Let PySpark answer."""
    import site

    site.main()
    from pyspark.sql.streaming import transform_with_state_driver_worker

    transform_with_state_driver_worker.main(infile, outfile)  # type: ignore[arg-type]  # it only calls read


def main() -> str | None:
    """Answer Spark; what went wrong, if anything did."""
    try:
        with to_spark() as opened:
            answer(opened)
    except (OSError, EOFError) as problem:  # the query was stopped while it started
        note_port()
        return f"Spark does not ask for the variables of a stage any more: {problem}"
    return None


if __name__ == "__main__":
    sys.exit(main())

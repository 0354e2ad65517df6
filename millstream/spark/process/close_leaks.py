"""Closes what Spark's process opens for each query and never closes.

For each stage that starts, Spark makes a factory of Python processes for a single one (see `stage_variables.py`). Of
that stay a sleeping thread, and a selector and a port that were closed for Java but, as the one was registered with the
other, not for the system. And py4j keeps a connection to Python, with a thread at our end, for each thread of Spark
that ever called Python: each query has one, for its batches and its events.

It is done some seconds later, beside everything else: a process that ends soon has no need of it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from millstream.spark.process.failures import LAST_BREATH_SECONDS, SPARK_ERRORS
from millstream.spark.process.jvm import hang_up_at_end, is_lost, process_id, scratch

LOG = logging.getLogger(__name__)

SOURCE = Path(__file__).with_name("Abandoned.java")

PORTS = "MILLSTREAM_PORTS"
"""The variable that tells `tell_stage_variables.py` where to write down the ports that it was called from."""

LATER_SECONDS = 5.0

_MODULE = "pyspark.sql.streaming.transform_with_state_driver_worker"
_LISTENS = "0A"

_waiting = threading.Lock()
_closing = threading.Lock()
_ended: list[Any] = []
_compiled: list[tuple[Any, Any]] = []
_told: list[BaseException] = []


def ports_folder() -> Path:
    """Where the ports are written down that Spark has forgotten; each is the name of a file."""
    folder = scratch() / "ports"
    folder.mkdir(exist_ok=True)
    return folder


def leave(connection: Any) -> None:
    """Give up a connection through which a thread of Spark's called: that has ended, or is about to."""
    if connection is not None:
        _ended.append(connection)
        close_later()


def close_later() -> None:
    """Close what was forgotten, in some seconds, together with what will be by then."""
    if _waiting.acquire(blocking=False):
        timer = threading.Timer(LATER_SECONDS, _close)
        timer.name, timer.daemon = "abandoned", True
        timer.start()


def _close() -> None:
    _waiting.release()
    try:
        with hang_up_at_end():
            close_leaks()
    except (*SPARK_ERRORS, OSError) as problem:
        if not is_lost(LAST_BREATH_SECONDS) and not _told:
            _told.append(problem)
            LOG.warning("what Spark has left open stays open: %s", problem)


def close_leaks() -> None:
    """Close what was forgotten until now."""
    gateway = SparkContext._gateway  # noqa: SLF001  (PySpark has no other way)
    if gateway is None:
        return
    with _closing:
        helper = _helper(gateway)
        helper.endMonitors(_MODULE)
        if found := list(_callback_ports()):
            helper.closeConnections(gateway.java_gateway_server.getCallbackClient(), ",".join(map(str, found)))
        process = process_id()
        if process is not None and (files := list(_files(process))):
            helper.closeFiles(",".join(map(str, files)))


def _helper(gateway: Any) -> Any:
    """The object in Spark's process that does it: one call does what would take a hundred from here."""
    for known, helper in _compiled:
        if known is gateway:
            return helper
    compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(SOURCE.read_text())
    helper = compiler.getClassLoader().loadClass("Abandoned").newInstance()
    _compiled[:] = [(gateway, helper)]
    return helper


def _callback_ports() -> Iterator[int]:
    """The ports of connections that were left, at Spark's end."""
    while _ended:
        # It is closed here when it is closed there; until then, the port is no other one's.
        with contextlib.suppress(OSError, AttributeError):
            yield int(_ended.pop().socket.getpeername()[1])


def _files(process: int) -> Iterator[int]:
    """The numbers of the files behind forgotten ports: the port, its selector, and what wakes that up.

    A port that is watched in any other way is left alone.
    """
    noted = {int(file.name): file for file in ports_folder().iterdir()}
    if not noted:
        return
    try:
        sockets = _find_listening_sockets(process)
        opened = {int(file.name): link for file in Path(f"/proc/{process}/fd").iterdir() if (link := _link(file))}
    except OSError:  # not on Linux, or not ours to look at
        return
    selectors = [_watch_process(process, number) for number, link in opened.items() if link == "anon_inode:[eventpoll]"]
    numbers = {link: number for number, link in opened.items()}
    for port, note in noted.items():
        number = numbers.get(f"socket:[{sockets.get(port)}]")
        for selector, watched in selectors:
            others = watched - {number}
            if number in watched and len(others) == 1 and opened.get(min(others)) == "anon_inode:[eventfd]":
                yield from (selector, number, *others)
        note.unlink()


def _link(file: Path) -> str | None:
    try:
        return os.readlink(file)  # noqa: PTH115  (a Path would take it for one)
    except OSError:  # closed meanwhile
        return None


def _find_listening_sockets(process: int) -> dict[int, str]:
    """The sockets on which a process and its neighbours listen, by their ports."""
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == _LISTENS:
                found[int(columns[1].rpartition(":")[2], 16)] = columns[9]
    return found


def _watch_process(process: int, selector: int) -> tuple[int, set[int]]:
    try:
        text = Path(f"/proc/{process}/fdinfo/{selector}").read_text()
    except OSError:
        return selector, set()
    return selector, {int(number) for number in re.findall(r"^tfd:\s*(\d+)", text, re.MULTILINE)}

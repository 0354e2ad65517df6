"""The process of Spark, which PySpark starts: how it is awaited, ended with its children, and missed when it dies."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import logging
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pyspark.java_gateway
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from millstream.spark.process.jvm_names import remember_names
from millstream.spark.process.leftovers import LOCK, new_folder, remove_own

LAST_SECONDS = 10.0
"""How long Spark's process may take to end in good order; then it is killed."""

_MARK = "_PYSPARK_DRIVER_CONN_INFO_PATH"
"""What PySpark sets in the environment of the process that it starts, and nobody else does."""

T = TypeVar("T")

_scratch: dict[int, tuple[Path, Any]] = {}


def scratch() -> Path:
    """Where Spark's process may keep temporary files: what it leaves behind when it is killed is removed with it."""
    if os.getpid() not in _scratch:
        folder = new_folder()
        lock = (folder / LOCK).open("w")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _scratch[os.getpid()] = (folder, lock)
        atexit.register(_leave, os.getpid())
    return _scratch[os.getpid()][0]


def launch(conf: SparkConf, log: Path | None) -> None:
    """Start Spark's process, if it does not run; what it writes to its standard error goes to `log`, if given."""
    forget_lost()
    if SparkContext._gateway is not None:  # noqa: SLF001  (PySpark has no other way)
        return
    logging.getLogger().addFilter(_is_news)
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    with contextlib.ExitStack() as stack:
        kwargs = {} if log is None else {"stderr": stack.enter_context(log.open("ab"))}
        stack.enter_context(_temporary_files_in(scratch()))
        start: Callable[[SparkConf, dict[str, Any]], Any] = pyspark.java_gateway.launch_gateway
        gateway = start(conf, kwargs)
    SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001
    remember_names(SparkContext._jvm)  # noqa: SLF001


def forget_lost() -> None:
    """Let PySpark forget a process that is gone, which it would ask for each setting otherwise."""
    if is_lost():
        _forget()


def run_in_thread(work: Callable[[], T]) -> T:
    """Start Spark in a thread of its own, unless this is one already.

    In the main thread PySpark would take Ctrl-C for itself, and a Ctrl-C that broke into its talk with the new process
    would leave both in an unknown state. Whoever is interrupted while waiting leaves nothing behind.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    made: list[T] = []
    problems: list[BaseException] = []

    def go() -> None:
        try:
            made.append(work())
        except BaseException as problem:
            problems.append(problem)
        finally:
            hang_up()

    thread = threading.Thread(target=go, name="spark-start", daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        end_spark()
        thread.join(LAST_SECONDS)
        _forget()
        raise
    for problem in problems:
        raise problem
    return made[0]


def end_quietly(context: SparkContext) -> None:
    """Let PySpark not print with its stack, in a thread of its own, that Spark's process is gone: it is told as such.

    That is the one that receives accumulators: it prints what goes wrong, whatever that is.
    """
    server: Any = context._accumulatorServer  # noqa: SLF001
    tell = server.handle_error

    def handle_error(request: Any, address: Any) -> None:
        if not is_lost(1.0):
            tell(request, address)

    server.handle_error = handle_error


def hang_up() -> None:
    """End this thread's own connection to Spark.

    One that was interrupted has half an answer on it, to be taken for the next one's; that of a thread that has ended
    would stay for ever.
    """
    connection = connection_of_thread()
    if connection is not None:
        with contextlib.suppress(ValueError):
            connection.java_client.deque.remove(connection)
        with contextlib.suppress(Exception):
            connection.close()


def connection_of_thread() -> Any:
    """This thread's own connection to Spark, if it has any: no other one uses it."""
    gateway = SparkContext._gateway  # noqa: SLF001
    client = None if gateway is None else gateway._gateway_client  # noqa: SLF001
    find = getattr(client, "get_thread_connection", None)  # not if PySpark was told that threads share connections
    return None if find is None else find()


def process_id() -> int | None:
    """The number of Spark's process, if this one has started it."""
    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001
    return None if process is None else int(process.pid)


@contextlib.contextmanager
def hang_up_at_end() -> Iterator[None]:
    """Talk with Spark in a thread that ends then."""
    try:
        yield
    finally:
        hang_up()


@contextlib.contextmanager
def hang_up_if_interrupted() -> Iterator[None]:
    """Talk with Spark in a way that may be interrupted: the next talk begins anew."""
    try:
        yield
    except Exception:
        raise
    except BaseException:
        hang_up()
        raise


def is_lost(patience: float = 0.0) -> bool:
    """Whether Spark's process was there and is no more; it may still be about to end for some seconds."""
    deadline = time.monotonic() + patience
    while _exit_code() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return _exit_code() is not None


def last_word() -> str:
    """How Spark's process ended, in a sentence."""
    code = _exit_code()
    how = f"was ended by {signal.Signals(-code).name}" if code is not None and code < 0 else "ended by itself"
    return f"Spark's process {how}, and all queries with it"


def end_spark(patience: float = LAST_SECONDS) -> None:
    """End Spark's process, also one that only starts, with all that it started; return when they are gone."""
    family = [one for jvm in _jvms() for one in (jvm, *_children(jvm))]
    for one in _jvms() if patience else family:
        with contextlib.suppress(psutil.Error):
            one.terminate() if patience else one.kill()
    if not _wait_until_gone(family, patience):
        for one in family:
            with contextlib.suppress(psutil.Error):
                one.kill()
        _wait_until_gone(family, LAST_SECONDS)


def _leave(pid: int) -> None:
    if os.getpid() == pid:  # not in a process that was forked off
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _hurry)
        end_spark()
        remove_own()


def _hurry(number: int, frame: object) -> None:
    end_spark(0)


def _exit_code() -> int | None:
    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001
    return None if process is None else process.poll()


def _jvms() -> list[psutil.Process]:
    return [one for one in _children(psutil.Process(), recursive=False) if _is_marked(one)]


def _is_marked(process: psutil.Process) -> bool:
    try:
        return _MARK in process.environ()
    except (psutil.Error, OSError):
        return False


def _children(process: psutil.Process, recursive: bool = True) -> list[psutil.Process]:
    try:
        return process.children(recursive=recursive)
    except psutil.Error:
        return []


def _wait_until_gone(processes: Iterable[psutil.Process], seconds: float) -> bool:
    """Wait until processes have ended. They are not reaped here: whoever started them still asks for them."""
    deadline = time.monotonic() + seconds
    while any(map(_runs, processes)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _forget() -> None:
    """Let PySpark forget a process that is gone, so that another one can be started."""
    gateway = SparkContext._gateway  # noqa: SLF001
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None  # noqa: SLF001
    SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001
    if gateway is not None:
        with contextlib.suppress(Exception):
            gateway.shutdown_callback_server()
        with contextlib.suppress(Exception):
            gateway.close(keep_callback_server=True)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a message is not of py4j, which prints each failure of a call with its stack, besides raising it."""
    return Path(record.pathname).parent.name != "py4j"


@contextlib.contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Let PySpark make the folder through which Spark's process tells its port there: killed now, it would stay."""
    module: Any = pyspark.java_gateway
    module.tempfile = _Temporary(folder)
    try:
        yield
    finally:
        module.tempfile = tempfile


class _Temporary:
    """The two functions of `tempfile` that PySpark uses."""

    mkstemp = staticmethod(tempfile.mkstemp)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def mkdtemp(self) -> str:
        return tempfile.mkdtemp(dir=self._folder)

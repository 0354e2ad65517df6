"""The listener loses nothing it acknowledged, keeps lines whole, and never waits for a producer."""

import errno
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

import millstream.spark
from millstream.connectors.tcp import landing_log
from millstream.connectors.tcp.landing_log import LogWriter
from millstream.connectors.tcp.limits import Limits
from millstream.connectors.tcp.listener import TcpListener, _Producer
from millstream.errors import RunError, SettingError


@pytest.fixture
def listener(tmp_path):
    with TcpListener(log_dir=tmp_path / "log", limits=Limits(line_bytes=1000)) as started:
        yield started


def connect(listener: TcpListener) -> socket.socket:
    return socket.create_connection(("127.0.0.1", listener.port), timeout=20)


def answers(sock: socket.socket) -> list[str]:
    """Everything said until the other side closes."""
    heard = b""
    while block := sock.recv(65536):
        heard += block
    return heard.decode().splitlines()


def send(listener: TcpListener, *parts: bytes) -> list[str]:
    with connect(listener) as sock:
        for part in parts:
            sock.sendall(part)
        sock.shutdown(socket.SHUT_WR)
        return answers(sock)


def landed(listener_or_dir: TcpListener | Path) -> list[bytes]:
    directory = listener_or_dir._log_dir if isinstance(listener_or_dir, TcpListener) else listener_or_dir
    return b"".join(landing_log.read(directory, 0, landing_log.end(directory))).splitlines()


def wait(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.002)


def test_lines_land_and_are_acknowledged(listener) -> None:
    assert send(listener, b'{"a": 1}\n{"a"', b": 2}\n")[-1] == "OK 2"
    assert landed(listener) == [b'{"a": 1}', b'{"a": 2}']
    assert (listener.rows, listener.connections, listener.failure) == (2, 1, None)


def test_an_acknowledgement_comes_while_the_connection_is_open(listener) -> None:
    with connect(listener) as sock:
        for n in range(1, 4):
            sock.sendall(b"row\n")
            assert sock.recv(100) == b"OK %d\n" % n
            assert landed(listener) == [b"row"] * n


@pytest.mark.parametrize(
    ("sent", "count", "rows"),
    [
        (b"", 0, []),
        (b"one\ntwo", 2, [b"one", b"two"]),
        (b"one\r\ntwo\r\n", 2, [b"one", b"two"]),
        (b"one\r", 1, [b"one"]),
        (b"\n\none\n \t\n\r\ntwo\n\n", 7, [b"one", b" \t", b"two"]),
        (b" one\n", 1, [b" one"]),
        (b"\n\n", 2, []),
        (b"x" * 1000 + b"\r\n", 1, [b"x" * 1000]),
        (b"\xff\xfe\n", 1, [b"\xff\xfe"]),
    ],
)
def test_line_ends_and_empty_lines(listener, sent, count, rows) -> None:
    assert send(listener, sent)[-1] == f"OK {count}"
    assert landed(listener) == rows
    assert listener.rows == len(rows)


def test_lines_cut_anywhere_stay_whole(listener) -> None:
    assert send(listener, *(bytes([b]) for b in b"one\r\ntwo\n\nthree"))[-1] == "OK 4"
    assert landed(listener) == [b"one", b"two", b"three"]


def test_many_producers_at_the_same_time(listener) -> None:
    producers, lines = 40, 500

    def produce(name: int) -> None:
        with connect(listener) as sock:
            for n in range(0, lines, 10):
                # Every group ends inside a line, so that others get in between.
                text = b"".join(b"%d %d %s\n" % (name, i, b"x" * (i % 90)) for i in range(n, n + 10))
                sock.sendall(text[:-5])
                sock.sendall(text[-5:])
            sock.shutdown(socket.SHUT_WR)
            said = answers(sock)
        counts = [int(line.removeprefix("OK ")) for line in said]
        assert counts == sorted(counts)
        finished.append(counts[-1])

    finished: list[int] = []
    threads = [threading.Thread(target=produce, args=(i,)) for i in range(producers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert finished == [lines] * producers
    assert (listener.rows, listener.connections) == (producers * lines, producers)
    rows = defaultdict(list)
    for line in landed(listener):
        name, number, filling = line.split(b" ")
        assert filling == b"x" * (int(number) % 90)
        rows[int(name)].append(int(number))
    assert rows == {name: list(range(lines)) for name in range(producers)}


def test_a_producer_that_never_reads_is_served_to_the_end(listener) -> None:
    with connect(listener) as sock:
        for _ in range(200):
            sock.sendall(b"row\n" * 100)
        sock.shutdown(socket.SHUT_WR)
        wait(lambda: listener.rows == 20_000)
    assert send(listener, b"another\n")[-1] == "OK 1"


def test_acknowledgements_that_nobody_reads_do_not_pile_up() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        producer = _Producer(ours, 1000)
        while producer.speak(acknowledge=True):
            producer.durable += 1
        stuck = producer.durable
        for _ in range(1000):
            producer.durable += 1
            assert not producer.speak(acknowledge=True)
        heard = b""
        while not heard.endswith(b"OK %d\n" % producer.durable):
            heard += theirs.recv(65536)
            producer.speak(acknowledge=True)
    counts = [int(line.removeprefix(b"OK ")) for line in heard.splitlines()]
    assert counts == [*range(1, stuck + 1), stuck + 1000]


def test_without_acknowledgements_nothing_is_said(tmp_path) -> None:
    with TcpListener(log_dir=tmp_path, acknowledge=False) as listener:
        assert send(listener, b"one\ntwo") == []
        assert landed(listener) == [b"one", b"two"]


def test_a_line_torn_by_a_reset_does_not_land(listener) -> None:
    with connect(listener) as sock:
        sock.sendall(b"whole\ntorn")
        wait(lambda: listener.rows == 1)
        # To close with this set is to reset.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait(lambda: not listener._producers)
    assert landed(listener) == [b"whole"]
    assert listener.failure is None


def test_a_line_that_is_too_long_ends_its_connection_only(listener) -> None:
    with connect(listener) as other:
        said = send(listener, b"first\n\n", b"second\n" + b"x" * 1001 + b"\nthird\n")
        assert said[-2:] == ["OK 3", "ERR line longer than 1000 bytes"]
        other.sendall(b"other\n")
        assert other.recv(100) == b"OK 1\n"
    assert landed(listener) == [b"first", b"second", b"other"]


def test_a_line_without_end_is_refused_while_it_is_sent(listener) -> None:
    with connect(listener) as sock:
        sock.sendall(b"first\n" + b"x" * 5000)
        assert answers(sock) == ["OK 1", "ERR line longer than 1000 bytes"]
    assert landed(listener) == [b"first"]


def test_more_connections_than_allowed_are_refused(tmp_path) -> None:
    with TcpListener(log_dir=tmp_path, limits=Limits(connections=1)) as listener, connect(listener) as first:
        with connect(listener) as second:
            assert answers(second) == ["ERR more than 1 connections"]
        first.sendall(b"row\n")
        assert first.recv(100) == b"OK 1\n"


def test_who_is_silent_longest_makes_room(tmp_path) -> None:
    limits = Limits(connections=3, patience=0.05)
    with TcpListener(log_dir=tmp_path, limits=limits) as listener, connect(listener) as busy, ExitStack() as others:
        idle, slow = (others.enter_context(connect(listener)) for _ in range(2))
        slow.sendall(b"never en")
        wait(lambda: len(listener._producers) == 3)
        time.sleep(0.1)
        busy.sendall(b"row\n")
        assert busy.recv(100) == b"OK 1\n"
        assert send(listener, b"newcomer\n")[-1] == "OK 1"
        assert answers(idle) == ["ERR it made room for another: more than 3 connections"]
        idle.close()
        wait(lambda: len(listener._producers) == 2)
        busy.sendall(b"row\n")
        assert busy.recv(100) == b"OK 2\n"
        # Half a line keeps nobody in.
        third, fourth = (others.enter_context(connect(listener)) for _ in range(2))
        assert answers(slow) == ["ERR it made room for another: more than 3 connections"]
        for sock in (third, fourth):
            sock.sendall(b"row\n")
            assert sock.recv(100) == b"OK 1\n"
    assert landed(tmp_path) == [b"row", b"newcomer", b"row", b"row", b"row"]


def test_the_silent_are_ended(tmp_path) -> None:
    limits = Limits(timeout=0.2)
    with TcpListener(log_dir=tmp_path, limits=limits) as listener, connect(listener) as idle:
        with connect(listener) as slow:
            slow.sendall(b"row\n")
            assert slow.recv(100) == b"OK 1\n"
            for _ in range(50):  # a line that never ends keeps nobody connected
                slow.sendall(b"x")
                time.sleep(0.01)
            assert answers(slow) == ["ERR no line came for 0.2 seconds"]
        assert answers(idle) == ["ERR no line came for 0.2 seconds"]
    assert listener.failure is None


def test_one_address_cannot_take_all_places(tmp_path) -> None:
    limits = Limits(connections=4, per_address=2)
    with TcpListener(log_dir=tmp_path, limits=limits) as listener, connect(listener), connect(listener):
        assert send(listener) == ["ERR more than 2 connections from 127.0.0.1"]
    with pytest.raises(SettingError, match="one address cannot have 5 of 4 connections"):
        Limits(connections=4, per_address=5)


def test_lines_without_an_end_share_a_bounded_memory(tmp_path) -> None:
    limits = Limits(open_bytes=10_000, line_bytes=9000)
    with TcpListener(log_dir=tmp_path, limits=limits) as listener, connect(listener) as small:
        with connect(listener) as large:
            small.sendall(b"s" * 3000)
            large.sendall(b"l" * 8000)
            assert answers(large) == ["ERR too many lines without an end are held for all producers"]
        small.sendall(b"\n")
        assert small.recv(100) == b"OK 1\n"
    assert landed(tmp_path) == [b"s" * 3000]


@pytest.mark.parametrize("what", ["removed", "moved", "end", "cut"])
def test_nothing_is_acknowledged_that_is_in_no_file(tmp_path, what) -> None:
    failures: list[RunError] = []
    log = tmp_path / "log"
    with TcpListener(log_dir=log, on_failure=failures.append) as listener, connect(listener) as sock:
        sock.sendall(b"safe\n")
        assert sock.recv(100) == b"OK 1\n"
        if what == "removed":
            shutil.rmtree(log)
        elif what == "moved":
            log.rename(tmp_path / "elsewhere")
        elif what == "end":
            (log / "end").unlink()
        else:
            os.truncate(next(log.glob("*.log")), 0)
        sock.sendall(b"lost\n")
        assert answers(sock) == ["ERR the log cannot be written"]
        wait(lambda: failures)
    assert failures == [listener.failure]
    wanted = "is damaged" if what == "cut" else "a file of the log was removed or replaced while it was written"
    assert wanted in str(listener.failure)


def test_it_listens_on_loopback_unless_told_otherwise(listener, tmp_path) -> None:
    assert listener.host == "127.0.0.1"
    assert listener._door.getsockname() == ("127.0.0.1", listener.port)
    with TcpListener("0.0.0.0", 0, tmp_path / "other") as public:
        assert public._door.getsockname()[0] == "0.0.0.0"


def test_a_log_directory_is_needed() -> None:
    with pytest.raises(SettingError, match="needs 'log_dir'"):
        TcpListener()


def test_a_port_in_use_is_named(listener, tmp_path) -> None:
    with pytest.raises(RunError, match=re.escape(f"127.0.0.1:{listener.port}: Address already in use; ")) as raised:
        TcpListener(port=listener.port, log_dir=tmp_path / "other").start()
    assert "choose another port" in str(raised.value)
    assert not (tmp_path / "other").exists()


def test_a_log_in_use_is_named(listener) -> None:
    with pytest.raises(RunError, match="is being written by another listener"):
        TcpListener(log_dir=listener._log_dir).start()


def test_it_can_be_started_again_on_the_same_port_and_log(tmp_path) -> None:
    listener = TcpListener(log_dir=tmp_path)
    for n in range(3):
        with listener:
            port = listener.port
            assert send(listener, b"row %d\n" % n) == ["OK 1"] * 2
        assert listener.port == port
    assert landed(tmp_path) == [b"row 0", b"row 1", b"row 2"]
    assert listener.rows == 3


def test_a_failing_disk_stops_it_and_nothing_more_is_acknowledged(listener, monkeypatch) -> None:
    def fail(_writer: LogWriter) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with connect(listener) as sock:
        sock.sendall(b"safe\n")
        assert sock.recv(100) == b"OK 1\n"
        monkeypatch.setattr(LogWriter, "sync", fail)
        sock.sendall(b"lost\n")
        assert answers(sock) == ["ERR the log cannot be written"]
    wait(lambda: not listener._thread.is_alive())
    assert isinstance(listener.failure, RunError)
    assert "No space left on device" in str(listener.failure)
    assert landed(listener) == [b"safe"]
    monkeypatch.undo()
    listener.stop()
    with listener:
        assert listener.failure is None
        assert send(listener, b"again\n")[-1] == "OK 1"
    assert landed(listener) == [b"safe", b"again"]


def test_neither_log_nor_listener_needs_spark() -> None:
    check = "import sys, millstream.connectors.tcp.listener; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], env=_environment(), check=False).returncode == 0


SERVER = """
import sys, time
from millstream.connectors.tcp.limits import Limits
from millstream.connectors.tcp.listener import TcpListener
listener = TcpListener(log_dir=sys.argv[1], segment_bytes=20_000).start()
print(listener.port, flush=True)
time.sleep(600)
"""


@pytest.mark.fault
def test_what_was_acknowledged_survives_a_kill(tmp_path) -> None:
    producers = 6
    for life in range(3):
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(tmp_path)], stdout=subprocess.PIPE, env=_environment()
        )
        assert server.stdout is not None
        port = int(server.stdout.readline())
        acknowledged = [0] * producers

        def produce(name: int, life: int = life, port: int = port, acknowledged: list[int] = acknowledged) -> None:
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
                    reader = threading.Thread(target=hear, args=(sock, name, acknowledged))
                    reader.start()
                    number = 0
                    while True:
                        rows = [json.dumps([life, name, n]) + "\n" for n in range(number, number + 50)]
                        sock.sendall("".join(rows).encode())
                        number += 50
            except OSError:
                reader.join()

        def hear(sock: socket.socket, name: int, acknowledged: list[int]) -> None:
            heard = b""
            try:
                while block := sock.recv(65536):
                    heard += block
                    *lines, heard = heard.split(b"\n")
                    if lines:
                        acknowledged[name] = int(lines[-1].removeprefix(b"OK "))
            except OSError:
                pass

        threads = [threading.Thread(target=produce, args=(name,)) for name in range(producers)]
        for thread in threads:
            thread.start()
        wait(lambda acknowledged=acknowledged: min(acknowledged) > 500)
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
        server.stdout.close()
        for thread in threads:
            thread.join()

        rows = [json.loads(line) for line in landed(tmp_path)]
        for name in range(producers):
            numbers = [n for of_life, of_name, n in rows if (of_life, of_name) == (life, name)]
            assert numbers == list(range(len(numbers)))
            assert len(numbers) >= acknowledged[name] > 500
        LogWriter(tmp_path).close()
        assert [json.loads(line) for line in landed(tmp_path)] == rows


def _environment() -> dict[str, str]:
    # The package may be used from its sources: the other process has to find it too.
    root = Path(next(iter(millstream.spark.__path__))).parent.parent
    return {**os.environ, "PYTHONPATH": str(root)}

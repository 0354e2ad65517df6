"""What Spark's process holds, to see whether that grows."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import psutil
from pyspark import SparkContext

from millstream.spark.process.jvm import process_id

OWN_CALLERS = 2
"""Threads of Spark that call Python at any time: the one that tells of progress, and the one that collects garbage.

At our end each has a thread that py4j has started to `run` it.
"""


def held() -> Counter[str]:
    """What it must not have more of with each query that has ended.

    Processes of Python that are idle are not counted: they are ended after a minute, each with a socket and a selector.
    """
    number = process_id()
    assert number is not None
    spark = psutil.Process(number)
    sockets = spark.net_connections("tcp")
    callbacks = SparkContext._gateway.get_callback_server().get_listening_port()
    calls = sum(bool(one.raddr) and one.raddr.port == callbacks for one in sockets)
    return Counter(
        {
            "ports": sum(one.status == psutil.CONN_LISTEN for one in sockets),
            "sockets that Python has closed": sum(one.status == psutil.CONN_CLOSE_WAIT for one in sockets),
            "connections for calls to Python": max(calls, OWN_CALLERS),
            "threads here": sum(not thread.name.endswith("(run)") for thread in threading.enumerate()),
            "watchers of idle processes": names_of_threads(number)["Idle Worker Mon"],
        }
    )


def names_of_threads(number: int) -> Counter[str]:
    """The threads of a process; Linux knows the first 15 letters of their names."""
    found: Counter[str] = Counter()
    for task in Path(f"/proc/{number}/task").iterdir():
        try:
            found[(task / "comm").read_text().strip()] += 1
        except OSError:  # it has ended meanwhile
            continue
    return found

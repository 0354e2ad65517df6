"""What all tests share: one Spark session for the whole run, and mills that use it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from millstream.mill import Mill, connect
from tests.drawing import drawn
from tests.in_memory import release, use_memory

# For every JVM of the run, also of programs that tests start: with few rows and many new queries, most of the time of
# a JVM would go into compiling at the highest level what is hardly run again. The first level alone would have a small
# cache for what it has compiled, and thousands of queries fill that.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")

settings.register_profile("each run", drawn(100))
settings.load_profile("each run")


def pytest_configure(config: pytest.Config) -> None:
    """Before the first test; the processes that share a run inherit what the first one has set."""
    if not hasattr(config, "workerinput") and (folder := use_memory()):
        config.add_cleanup(lambda: release(folder))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """The one Spark session of the run."""
    from millstream.spark.process.session import open_session

    session = open_session("local[2]", log=tmp_path_factory.mktemp("spark") / "spark.log")
    yield session
    session.stop()


@pytest.fixture
def mill(spark: object, tmp_path: Path) -> Iterator[Mill]:
    """A mill whose queries read what is there and end; addresses are relative to tmp_path."""
    with connect(base=tmp_path, once=True, master="local[2]") as opened:
        yield opened


@pytest.fixture
def live_mill(spark: object, tmp_path: Path) -> Iterator[Mill]:
    """A mill whose queries go on until they are stopped."""
    with connect(base=tmp_path, master="local[2]") as opened:
        yield opened


@pytest.fixture
def run(mill: Mill) -> Callable[[str], Mill]:
    """Carry out a script and wait for its queries."""

    def go(text: str) -> Mill:
        mill.execute(text)
        mill.wait()
        return mill

    return go

"""Makes the files that speed Spark up: see `spark/local_files.py` and `spark/class_archive.py`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext

from millstream.errors import MillstreamError
from millstream.mill.mill import connect
from millstream.spark.process.class_archive import QUIET, archive_path
from millstream.spark.process.jvm import end_spark, launch
from millstream.spark.process.local_files import compile_local_files


def make_class() -> Path:
    """Compile our class in a process of Spark that does nothing else: the next one is started with it."""
    with tempfile.TemporaryDirectory() as folder:
        launch(SparkConf(), Path(folder) / "spark.log")
        try:
            return compile_local_files(SparkContext._jvm)  # noqa: SLF001
        finally:
            end_spark()


def make_archive() -> Path:
    """Run a few queries in a JVM that writes down the classes it has loaded when it ends."""
    path = archive_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        lines = (f"{n % 3},{n},2024-01-01T00:00:{n:02}" for n in range(60))
        (Path(folder) / "s.csv").write_text("\n".join(("k,v,t", *lines, "")))
        # In place of the default, which would use the archive that is there: a JVM with one cannot write another.
        conf = {"spark.driver.defaultJavaOptions": f"-XX:+UseParallelGC -XX:ArchiveClassesAtExit={made} {QUIET}"}
        with connect(base=folder, once=True, master="local[2]", conf=conf) as mill:
            for text in QUERIES:
                mill.execute(text)
                mill.wait()
            mill.spark.stop()
            gateway: Any = SparkContext._gateway  # noqa: SLF001  (PySpark has no other way)
        gateway.proc.stdin.close()  # the JVM ends with its input
        gateway.proc.wait(PATIENCE)
        if not made.exists():
            raise MillstreamError("the JVM wrote none: this Java may not know -XX:ArchiveClassesAtExit")
        made.chmod(0o600)
        made.replace(path)
    return path


PATIENCE = 300.0

QUERIES = (
    """
    CREATE STREAM s (k INT, v BIGINT, t TIMESTAMP) ORDER BY t SOURCE 'csv:s.csv';
    CREATE SINK kept TO 'json:out';
    CREATE SINK parted TO 'parquet:parted';
    INSERT INTO kept SELECT k, v FROM s WHERE v > 3;
    INSERT INTO parted SELECT k, count(*) [RANGE 10 SECONDS, SLIDE 5 SECONDS] AS n FROM s GROUP BY k;
    """,
    """
    CREATE STREAM p (k INT, n BIGINT) SOURCE 'parquet:parted';
    CREATE QUERY again AS SELECT n FROM p;
    CREATE QUERY joined AS SELECT a.k, b.v FROM s a [RANGE 3 SECONDS], s b [RANGE 3 SECONDS] WHERE a.k = b.k;
    """,
)


if __name__ == "__main__":
    say = sys.stdout.write
    say("making a class for Spark and an archive of its classes, so that it is faster (half a minute)\n")
    try:
        make_class()
        make_archive()
    except (MillstreamError, Py4JError, OSError) as problem:  # nothing depends on them
        say(f"not all is made, and Spark works as it does without: {problem}\n")

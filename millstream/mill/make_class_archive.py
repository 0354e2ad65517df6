"""Makes the archive of the Java classes that Spark loads; see `spark/class_archive.py`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from millstream.errors import MillstreamError
from millstream.mill.mill import connect
from millstream.spark.class_archive import QUIET, archive_path


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
    say("making an archive of Spark's classes, so that it starts faster (half a minute)\n")
    try:
        make_archive()
    except (MillstreamError, OSError) as problem:  # nothing depends on it
        say(f"there is none, and Spark starts as it does without: {problem}\n")

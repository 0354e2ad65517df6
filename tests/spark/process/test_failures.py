"""What Spark's failures are for the person who wrote the query: one sentence that says what happened, and where."""

from __future__ import annotations

import pytest

from millstream.connectors.places.bad_files import WAY_OUT
from millstream.spark.process.failures import explain_failure

PYTHON = """Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: (TID 5):
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/x/pyspark/worker.py", line 1, in main
    process()
pyarrow.lib.ArrowInvalid: offset overflow while concatenating arrays

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:581)

Driver stacktrace:
"""
WORKER = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/x/stage.py", line 7, in run
    raise KeyError("k")
KeyError: 'k'
"""
SAVE = """An error occurred while calling o10759.save.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 failed
\tat org.apache.spark.Some.where(Some.scala:1)
Caused by: java.lang.IllegalStateException
\tat org.apache.spark.Some.where(Some.scala:1)
Caused by: java.io.IOException: No space left on device
"""
BATCH = """Query [id = 7] terminated with exception: Traceback (most recent call last):
  File "/x/sinks/folder.py", line 9, in write
    frame.write.save(path)
py4j.protocol.Py4JJavaError: An error occurred while calling o10759.save.
: java.nio.file.AccessDeniedException: /out/part-0
\tat java.base/sun.nio
"""
COLUMN = """Job aborted due to stage failure: [FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH] Encountered error \
while reading file file:///data/in%20put/b.parquet. Data type mismatches when reading Parquet column. SQLSTATE: KD001
Caused by: org.apache.spark.sql.execution.datasources.SchemaColumnConvertNotSupportedException: column: [id], \
physicalType: BINARY, logicalType: int
\tat org.apache
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (PYTHON, "offset overflow while concatenating arrays"),
        (WORKER, "there is no key 'k'"),
        (SAVE, "No space left on device"),
        (BATCH, "/out/part-0: access denied"),
        (COLUMN, "/data/in put/b.parquet: column: [id], physicalType: BINARY, logicalType: int\nhelp: " + WAY_OUT),
        ("An error occurred while calling o1.x.\n: java.lang.NullPointerException\n\tat a.b", "NullPointerException"),
        ("", "ValueError"),
    ],
)
def test_the_cause_is_told(text: str, told: str) -> None:
    assert explain_failure(ValueError(text)) == told


def test_what_the_system_says_comes_with_its_file() -> None:
    assert (
        explain_failure(FileNotFoundError(2, "No such file or directory", "/a/b")) == "/a/b: No such file or directory"
    )

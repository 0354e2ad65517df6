"""How Spark's processes are started."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from millstream.spark.process import jvm
from millstream.spark.process.session import PYTHON_OF_WORKERS


def test_python_is_started_without_the_zip_files_of_spark() -> None:
    path = "/s/python/lib/pyspark.zip:/mine/a b:/s/python/lib/py4j-0.10.9.9-src.zip:/other"
    told = subprocess.run(
        [PYTHON_OF_WORKERS, "-c", "import os, sys; print(os.environ['PYTHONPATH'], sys.argv[1:])", "x y", "*"],
        env={**os.environ, "PYTHONPATH": path, "MILLSTREAM_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "/mine/a b:/other ['x y', '*']\n"


@pytest.mark.spark
def test_workers_use_the_installed_package(spark: SparkSession) -> None:
    def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyspark

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"place": [pyspark.__file__]})

    places = spark.range(1).mapInArrow(where, "place STRING").collect()
    assert [row.place.endswith("pyspark/__init__.py") and ".zip" not in row.place for row in places] == [True]


@pytest.mark.spark
def test_the_end_of_sparks_process_is_not_told_with_a_stack(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = spark.sparkContext._accumulatorServer
    monkeypatch.setattr(jvm, "is_lost", lambda _: True)
    server.handle_error(None, ("127.0.0.1", 1))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(jvm, "is_lost", lambda _: False)
    server.handle_error(None, ("127.0.0.1", 1))
    assert "127.0.0.1" in capsys.readouterr().err

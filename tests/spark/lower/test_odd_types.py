"""Values of types that Arrow, Python or a format of files has not are text there."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.connectors.writing.text import as_text, readable, writer_options
from millstream.mill import Mill

pytestmark = pytest.mark.spark

ODD = {
    "parse_json('{\"a\": 1}')": '{"a":1}',
    "array(parse_json('1'))": "[1]",
    "INTERVAL '1' YEAR": "INTERVAL '1' YEAR",
    "make_interval(1, 2)": "1 years 2 months",
    "array(make_interval(1))": "[1 years]",
    "array()": "[]",
    "named_struct('m', map())": "{{}}",
}
"""Values, and how they are told."""


def test_as_rows_and_in_files(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql("SELECT " + ", ".join(f"{value} AS `c{n}`" for n, value in enumerate(ODD)))
    (row,) = readable(frame).toArrow().to_pylist()
    assert list(row.values()) == list(ODD.values())
    options = {"header": True, "delimiter": ",", "null": ""}
    for kind in ("csv", "json", "parquet"):
        written = as_text(frame.drop(*([] if kind != "parquet" else ["c5", "c6"])), kind)
        written.write.format(kind).options(**writer_options(kind, options)).save(str(tmp_path / kind))


def test_from_tables(mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"t": "{"}\n{"t": "[1]"}\n')
    mill.execute(
        "CREATE TABLE s (t STRING) SOURCE 'json:a.json'; CREATE TABLE v AS SELECT t, parse_json(t) AS j FROM s"
    )
    for source in ("SELECT t, parse_json(t) AS j FROM s", "SELECT * FROM v"):
        (answer,) = mill.execute(source)
        assert answer.table is not None
        assert answer.table.to_pylist() == [{"t": "{", "j": None}, {"t": "[1]", "j": "[1]"}]

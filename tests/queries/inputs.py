"""Inputs: streams and tables with their rows, as the blocks of a case give them."""

from __future__ import annotations

import csv
import json
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

import duckdb
import pyarrow as pa

from millstream.language.parse.statements import CreateStream
from millstream.language.parser import parse

CSV = """header, delim ',', quote '"', escape '"', nullstr '', timestampformat '%Y-%m-%dT%H:%M:%S.%f'"""
"""How CSV is written as people do it: NULL is an empty field, an empty text is quoted."""
READ_CSV = """header=true, allow_quoted_nulls=false, auto_detect=false, delim=',', quote='"', escape='"'"""


_MACROS = Path(__file__).with_name("macros.sql")


def database() -> duckdb.DuckDBPyConnection:
    """DuckDB with the macros that cases may use."""
    db = duckdb.connect()
    db.execute(_MACROS.read_text(encoding="utf-8"))
    return db


@dataclass(frozen=True)
class Input:
    """A stream or a table: its name, columns and clauses as after CREATE, and its rows as CSV, JSON or a SELECT."""

    is_stream: bool
    declaration: str
    text: str

    @classmethod
    def of(cls, kind: str, body: str) -> Input:
        """The one in a block: the first line declares it, the others are its rows."""
        declaration, _, text = body.partition("\n")
        return cls(kind == "stream", declaration.strip(), text.strip("\n"))

    @cached_property
    def statement(self) -> CreateStream:
        """What is declared, as the parser understands it."""
        (statement,) = parse(f"CREATE STREAM {self.declaration}")
        assert isinstance(statement, CreateStream)
        return statement

    @property
    def name(self) -> str:
        """The name of the stream or table."""
        return str(self.statement.name)

    @property
    def time(self) -> str | None:
        """The column of the time stamps."""
        return str(self.statement.order_by) if self.statement.order_by else None

    @property
    def slack(self) -> timedelta:
        """How far rows may be out of order."""
        return self.statement.slack

    @property
    def format(self) -> str:
        """What kind of file its rows are."""
        return "json" if self.text.startswith("{") else "csv"

    @property
    def head(self) -> str:
        """The first line of each of its files."""
        return f"{self._lines[0]}\n" if self.format == "csv" else ""

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """Its rows, each as a line of a file."""
        return tuple(line for line in self._lines[self.format == "csv" :] if line)

    @cached_property
    def breaks(self) -> tuple[int, ...]:
        """Before which rows a new file begins, if blank lines say so."""
        found, row = [], 0
        for line in self._lines[self.format == "csv" :]:
            if line:
                row += 1
            else:
                found.append(row)
        return tuple(found)

    @cached_property
    def times(self) -> list[datetime | None]:
        """The time stamp of each row, None where there is none that can be read."""
        return [self._time_of(row) for row in self.rows]

    @cached_property
    def table(self) -> pa.Table:
        """Its rows as DuckDB reads them, times in UTC."""
        with duckdb.connect() as db:
            self.load(db)
            found = db.sql(f"FROM {self.name}").to_arrow_table()
        fields = [
            field.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(field.type) else field
            for field in found.schema
        ]
        return found.cast(pa.schema(fields))

    def load(self, db: duckdb.DuckDBPyConnection) -> None:
        """Make a table of it in DuckDB."""
        self._create(db)
        columns = ", ".join(f"'{name}': '{type_}'" for name, type_ in self._columns.items())
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rows"
            file.write_text(self.head + "".join(f"{row}\n" for row in self.rows), encoding="utf-8")
            read = f"read_csv('{file}', columns={{{columns}}}, {READ_CSV})"
            if self.format == "json":
                read = f"read_json('{file}', columns={{{columns}}}, format='newline_delimited')"
            db.execute(f"INSERT INTO {self.name} FROM {read}")

    @cached_property
    def _lines(self) -> list[str]:
        if not self.text.upper().startswith(("SELECT ", "WITH ")):
            return self.text.split("\n")
        with database() as db, tempfile.TemporaryDirectory() as folder:
            self._create(db)
            db.execute(f"INSERT INTO {self.name} {self.text}")
            db.execute(f"COPY {self.name} TO '{folder}/rows.csv' ({CSV})")
            lines = Path(folder, "rows.csv").read_text(encoding="utf-8").rstrip("\n").split("\n")
            ((count,),) = db.execute(f"SELECT count(*) FROM {self.name}").fetchall()
        assert len(lines) == count + 1, "each row must fit a line"
        return lines

    def _create(self, db: duckdb.DuckDBPyConnection) -> None:
        columns = ", ".join(f'"{name}" {type_}' for name, type_ in self._columns.items())
        db.execute(f"CREATE TABLE {self.name} ({columns})")

    @property
    def _columns(self) -> dict[str, str]:
        read = (column for column in self.statement.schema if column.name not in self.statement.computed)
        return {column.name: column.type.sql(dialect="duckdb") for column in read}

    def _time_of(self, row: str) -> datetime | None:
        values = json.loads(row) if self.format == "json" else dict(zip(*csv.reader([self.head, row]), strict=False))
        with suppress(ValueError, TypeError):
            return datetime.fromisoformat(values.get(self.time))
        return None

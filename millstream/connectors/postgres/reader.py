"""A table of PostgreSQL as a Spark source, read anew by every query and in every micro-batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, DecimalType, StructType

from millstream.connectors.postgres.client import Reach, Wanted, read
from millstream.connectors.postgres.place import PostgresPlace
from millstream.errors import RunError

FORMAT = "millstream_postgres"

_CASTS = {
    "byte": "smallint",
    "short": "smallint",
    "integer": "integer",
    "long": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
    "binary": "bytea",
}


def register(spark: SparkSession) -> None:
    """Make the format known to a session."""
    spark.dataSource.register(PostgresSource)


class PostgresSource(DataSource):
    """The rows of a table.

    Options: `table`, its name here; `address`, what follows `postgres:`; `connectTimeout` and `readTimeout`, in
    seconds; `password`, under a name that Spark keeps out of plans and logs.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def reader(self, schema: StructType) -> PostgresReader:
        """Reads the columns that were declared."""
        return PostgresReader(schema, self.options)


class PostgresReader(DataSourceReader):
    """Reads the table in one task, by one statement: its rows are of one moment."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        self._schema = to_arrow_schema(schema, timezone="UTC")
        self._reach = Reach(
            name=options["table"],
            place=PostgresPlace.parse(options["address"]),
            connect_timeout=int(options["connectTimeout"]),
            read_timeout=int(options["readTimeout"]),
            password=options.get("password", ""),
        )
        self._wanted = [Wanted(f.name, self._casts(f.name, f.dataType)) for f in schema]

    def check(self) -> None:
        """Raise what is wrong with the table or its columns, before a query starts."""
        for _ in read(self._reach, self._wanted, limit=0):
            pass

    def partitions(self) -> list[InputPartition]:
        """One part."""
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows, with the declared types."""
        for batch in read(self._reach, self._wanted):
            yield pa.RecordBatch.from_arrays(
                [self._cast(column, field) for column, field in zip(batch.columns, self._schema, strict=True)],
                schema=self._schema,
            )

    def _cast(self, column: pa.Array, field: pa.Field) -> pa.Array:
        try:
            return column.cast(field.type)
        except pa.ArrowInvalid as problem:
            told = str(problem).splitlines()[0]
            raise RunError(f"table {self._reach.name}: column {field.name} does not fit its type: {told}") from None

    def _casts(self, name: str, type_: DataType) -> tuple[str, ...]:
        casts = casts_to(type_)
        if casts is None:
            raise RunError(
                f"table {self._reach.name}: PostgreSQL cannot fill '{name}' {type_.simpleString().upper()}\n"
                "help: read the column as STRING and take it apart with from_json"
            )
        return casts


def casts_to(type_: DataType) -> tuple[str, ...] | None:
    """The types that a column is cast to on the server, one after the other, to become one of Spark.

    >>> casts_to(DecimalType(10, 2))
    ('numeric(10, 2)', 'text')
    """
    if isinstance(type_, DecimalType):
        # ADBC gives numbers of any size as text, in a type of its own; as plain text they can be cast.
        return (f"numeric({type_.precision}, {type_.scale})", "text")
    if isinstance(type_, ArrayType):
        casts = None if isinstance(type_.elementType, ArrayType) else casts_to(type_.elementType)
        return None if casts is None else tuple(f"{cast}[]" for cast in casts)
    known = _CASTS.get(type_.typeName())
    return None if known is None else (known,)

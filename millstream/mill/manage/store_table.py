"""Tables in the home: made by CREATE TABLE, empty or with the rows of a bounded SELECT, and put in place of others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

from millstream.catalog.address import Address
from millstream.catalog.catalog import key_of
from millstream.catalog.definitions import StoredTable, Table
from millstream.catalog.schema import Column, Schema, sql_type, type_name
from millstream.errors import RunError
from millstream.language.bound import Store
from millstream.language.stored_rows import STORED
from millstream.mill.answers import Answer
from millstream.mill.context import Context
from millstream.mill.home.home import TABLES
from millstream.mill.manage.replace_definition import replace_definition
from millstream.mill.stored.catalog_store import Entry
from millstream.mill.stored.definitions import COLUMNS
from millstream.mill.stored.stored_rows import count_rows
from millstream.spark.process.failures import SPARK_ERRORS, explain_failure

Columns = list[tuple[str, str, bool]]


def store_table(bound: Store, at: Context) -> Answer:
    """Compute the rows into a folder of their own, and only then give them the name."""
    with at.engine.bounded.frame(bound.select, at.settings, at.catalog) as frame:
        schema = Schema(Column(f.name, sql_type(f.dataType.simpleString())) for f in frame.schema)
        table = StoredTable(bound.name, schema, STORED, text=bound.text)

        def write(folder: Path) -> None:
            try:
                frame.write.parquet(str(folder))
            except SPARK_ERRORS as problem:
                raise RunError(f"table {bound.name} could not be made: {explain_failure(problem)}") from problem

        _write_table(table, cast("Table | None", bound.replaced), write, at)
    return Answer(f"{'created' if bound.replaced is None else 'replaced'} table {bound.name}")


def create_table(table: StoredTable, replaced: Table | None, at: Context) -> Answer:
    """Make an empty table; one that an earlier run made has its rows, and must have these columns."""
    before = at.definitions.store.find(key_of(table))
    if replaced is None and before is not None and COLUMNS in before.details and before.folder is not None:
        made = _place_table(table, before.folder, at)
        if at.engine.stored.has(Path(made.source.rest)):
            _check_columns(made, before)
            at.definitions.add(made, at.definitions.entry_for(made, at.base, columns=_columns(made)), at.uses)
            rows = count_rows(at.engine.stored.folder_of(made))
            return Answer(f"created table {table.name}, with {rows} row{'' if rows == 1 else 's'} from before")
    _write_table(table, replaced, lambda folder: folder.mkdir(), at)
    word = "created table" if replaced is None else "replaced table"
    return Answer(f"{word} {table.name}{'' if replaced is None else '; it is empty'}")


def _write_table(table: StoredTable, replaced: Table | None, write: Callable[[Path], None], at: Context) -> None:
    """Write rows into a new folder, and put the table with them into the catalog; the rows before are gone then."""
    definitions, engine = at.definitions, at.engine
    file = definitions.new_table_folder(table.name)
    made = _place_table(table, file, at)
    before = definitions.store.find(key_of(table))
    try:
        engine.stored.replace(Path(made.source.rest), write)
        entry = replace(definitions.entry_for(made, at.base, columns=_columns(made)), folder=file)
        if replaced is None:
            definitions.add(made, entry, at.uses)
        else:
            replace_definition(replaced, made, entry, at)
    except BaseException:
        engine.stored.remove(made)
        raise
    if before is not None and before.folder is not None and COLUMNS in before.details:
        engine.stored.remove(_place_table(table, before.folder, at))


def _place_table(table: StoredTable, file: str, at: Context) -> StoredTable:
    """The table with its folder in the home."""
    return replace(table, source=Address(STORED.kind, str(at.engine.home.root / TABLES / file)))


def _columns(table: StoredTable) -> Columns:
    return [(column.name, type_name(column.type), column.nullable) for column in table.schema]


def _check_columns(table: StoredTable, before: Entry) -> None:
    known = [tuple(column) for column in before.details[COLUMNS]]
    if known != _columns(table):
        had = Schema(Column(name, sql_type(type_), nullable) for name, type_, nullable in known)
        raise RunError(
            f"table {table.name} has rows from before with the columns {_spell(had)}, and now it would have "
            f"{_spell(table.schema)}\nhelp: keep its columns as they were; or begin with --resume, and DROP TABLE "
            f"{table.name}"
        )


def _spell(schema: Schema) -> str:
    return ", ".join(map(str, schema))

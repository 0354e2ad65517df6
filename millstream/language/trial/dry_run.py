"""A trial run of a statement on the catalog alone."""

from __future__ import annotations

from millstream.catalog.address import Address
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Table
from millstream.language.bound import Bound, Define, Removal, Start, Store


def dry_run(bound: Bound, catalog: Catalog) -> None:
    """What a bound statement would change in the catalog, without doing it."""
    match bound:
        case Define(definition=definition, known=False):
            catalog.add(definition)
        case Store(name=name, select=select, known=False):
            catalog.add(Table(name, select.schema, Address("parquet", "")))
        case Start(query=query):
            catalog.add(query)
        case Removal(definition=definition) if definition is not None:
            catalog.remove(definition)

"""A trial run of a statement on the catalog alone."""

from __future__ import annotations

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import StoredTable, View
from millstream.language.bound import Bound, Define, NewName, OpenView, Removal, Replace, Start, Store
from millstream.language.changes import with_name
from millstream.language.stored_rows import STORED


def dry_run(bound: Bound, catalog: Catalog) -> None:
    """What a bound statement would change in the catalog, without doing it."""
    match bound:
        case Define(definition=definition, known=False):
            catalog.add(definition)
        case Store(name=name, select=select, known=False):
            catalog.add(StoredTable(name, select.schema, STORED))
        case OpenView(view=view, known=False):
            catalog.add(view)
            catalog.add(view.query)
        case Start(query=query, known=False):
            catalog.add(query)
        case Replace(new=new):
            catalog.add(new)
        case NewName(definition=definition, name=name):
            catalog.remove(definition)
            catalog.add(with_name(definition, name))
        case Removal(definition=definition) if definition is not None:
            catalog.remove(definition)
            if isinstance(definition, View) and (of := catalog.query(definition.name)) is not None:
                catalog.remove(of)
        case Removal(broken=broken) if broken is not None:
            catalog.remove_broken(broken)

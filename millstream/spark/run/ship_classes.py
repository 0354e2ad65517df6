"""Ships the classes of users to the processes that run them.

What is installed, executors can import. A script or a notebook they cannot: its classes travel by value, as those of
all modules in its folder do that are loaded.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from types import ModuleType

from pyspark import cloudpickle

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import PythonAggregate
from millstream.udas.python.declaration import find_class

_INSTALLED = tuple(
    {str(Path(path).resolve()) for path in map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))}
)


def ship_classes(catalog: Catalog) -> None:
    """Make the classes of a catalog's aggregates fit to travel."""
    for definition in catalog.all(PythonAggregate):
        module = sys.modules.get(find_class(definition.place).__module__)
        if module is not None and (folder := _folder(module)) is not None:
            for name, other in list(sys.modules.items()):
                # The package itself is where the aggregates run; __main__ always travels by value.
                if "." not in name and name not in {"millstream", "__main__"} and _folder(other) == folder:
                    cloudpickle.register_pickle_by_value(other)  # type: ignore[no-untyped-call]


def _folder(module: ModuleType) -> Path | None:
    """The folder that a module is imported from, None if it is installed or has no file."""
    top = sys.modules.get(module.__name__.partition(".")[0], module)
    places = [top.__file__] if getattr(top, "__file__", None) else list(getattr(top, "__path__", []))
    if not places or not places[0]:
        return None
    place = Path(places[0]).resolve()
    if str(place).startswith(_INSTALLED) or "site-packages" in place.parts:
        return None
    if place.name == "__init__.py":
        place = place.parent
    return place.parent

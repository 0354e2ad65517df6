"""The context of a statement: the parts of the mill, and the settings and folder of its session."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from millstream.catalog.catalog import Catalog, Key
from millstream.catalog.settings import Settings
from millstream.mill.engine.engine import Engine
from millstream.mill.manner import Display, Manner
from millstream.mill.stored.definitions import Definitions


@dataclass(frozen=True)
class Context:
    """The engine, the settings and the display of a session, and of the statement its folder and what it uses.

    `settings` are the session's own, which SET changes. `catalog` is what the statement was bound to: what another
    thread defines meanwhile does not concern one that only looks.
    """

    engine: Engine
    settings: Settings
    display: Display
    base: Path
    catalog: Catalog
    uses: Collection[Key] = ()

    @property
    def definitions(self) -> Definitions:
        """The definitions of the mill."""
        return self.engine.definitions

    @property
    def manner(self) -> Manner:
        """The manner of a query that is started now."""
        return Manner(self.settings.copy(), self.display)

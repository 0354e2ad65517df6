"""Folders of a home that the catalog does not know: it was lost or removed, and what they hold has not."""

from __future__ import annotations

from millstream.mill.home.home import QUERIES, STREAMS, TABLES
from millstream.mill.stored.definitions import Definitions, folder_kind


def unknown_folders(definitions: Definitions) -> list[str]:
    """What the catalog does not know, in a sentence for each kind of folder."""
    known = {(folder_kind(entry), entry.folder) for entry in definitions.store.entries()}
    known |= {(STREAMS, entry.folder) for entry in definitions.store.entries() if entry.kind == "stream"}
    told = []
    for kind in (QUERIES, STREAMS, TABLES):
        root = definitions.home.root / kind
        there = sorted(folder.name for folder in root.iterdir() if folder.is_dir()) if root.exists() else []
        if lost := [name for name in there if (kind, name) not in known and any((root / name).iterdir())]:
            shown = ", ".join(lost[:5]) + (f" and {len(lost) - 5} others" if len(lost) > 5 else "")
            told.append(
                f"the catalog {definitions.home.catalog_file} does not know what is in {root}: {shown}\n"
                "help: bring the catalog back; or run the scripts again that made them: the queries carry on"
            )
    return told

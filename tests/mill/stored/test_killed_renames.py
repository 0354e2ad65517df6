"""A rename that was killed after it was stored: what queries have left behind goes by the new names then."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from millstream.mill import connect
from millstream.mill.home.query_record import QueryRecord
from millstream.mill.stored.catalog_store import RENAMING, STOPPED, CatalogStore, Entry

STREAM = "CREATE STREAM {} (k INT) SOURCE 'csv:in'"


def test_records_go_by_the_new_names(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with connect(home, base=tmp_path) as mill:
        mill.execute(STREAM.format("s"))
    folder = home / "queries" / "q"
    (folder / "checkpoint" / "offsets").mkdir(parents=True)
    (folder / "checkpoint" / "commits").mkdir()
    for kind in ("offsets", "commits"):
        (folder / "checkpoint" / kind / "0").touch()
    QueryRecord(("stream s from csv:in",), id="0123456789ab").save(folder / "query.json")
    (folder / "starts.json").write_text(json.dumps({"said": "NOW", "starts": {"s": [7, None, None], "o": [1, 2, 3]}}))
    store = CatalogStore(home / "catalog.db")
    stream = store.entries()[0]
    store.put(replace(stream, name="t", text=STREAM.format("t"), pending=RENAMING))
    text = "CREATE QUERY q AS SELECT k FROM t"
    store.put(Entry("query", "query", "q", text, folder="q", wanted=STOPPED, pending=RENAMING))
    store.close()
    with connect(home, base=tmp_path, resumes=True) as mill:
        assert mill.resumed.problems == ()
        assert not [entry for entry in mill.engine.definitions.store.entries() if entry.pending]
        record = QueryRecord.load(folder / "query.json")
        assert record is not None
        assert record.id == "0123456789ab"
        assert [source for source in record.sources if "t" in source.split()], record.sources
    assert json.loads((folder / "starts.json").read_text())["starts"] == {"t": [7, None, None], "o": [1, 2, 3]}

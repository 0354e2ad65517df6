"""The other end of a NEXMark worker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from millstream_bench.harness.engine import Engine


class QueryEngine(Engine):
    """One engine in a process of its own, which runs one query after the other."""

    WORKER = "millstream_bench.nexmark.contest.worker"

    def run_query(self, query: str) -> float:
        """Have a query, or several with commas between them at once, done; the seconds it took."""
        return float(self._ask(json.dumps({"do": "run", "query": query}))["seconds"])

    def keep(self, query: str, folder: Path) -> dict[str, float]:
        """Have a query done once more: its rows are in the folder then, or these sums stand for them."""
        sums: dict[str, float] = self._ask(json.dumps({"do": "keep", "query": query, "folder": str(folder)}))["sums"]
        return sums

    def notes(self) -> dict[str, Any]:
        """What a reader of the figures must know besides them."""
        notes: dict[str, Any] = self._ask(json.dumps({"do": "notes"}))["notes"]
        return notes

    def forget_peak(self) -> None:
        """Begin to watch the memory anew."""
        self.peak_bytes = 0

"""A registration as a client holds it, by its handle."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal

import pyarrow as pa

from millstream.mill.standing.kept_answers import NONE
from millstream.mill.standing.templates import Templates


class Registration:
    """Answers for one registration of a template, which may be stopped and started again meanwhile."""

    def __init__(self, templates: Templates, handle: str) -> None:
        self._templates = templates
        self.handle = templates.of(handle).handle(handle)

    def invoke(self, since: datetime | Literal["last"] | None = None) -> pa.Table:
        """The answers that are kept: all, those since a time, or those that it has not been given yet ('last')."""
        if isinstance(since, str):
            if since.lower() != "last":
                raise ValueError(f"since is a time, or 'last', and not {since!r}")
            return self._templates.invoke(self.handle, last=True).rows
        if since is not None and since.tzinfo is None:
            since = since.replace(tzinfo=UTC)
        return self._templates.invoke(self.handle, since).rows

    def subscribe(self, timeout: float | None = None) -> Iterator[pa.Table]:
        """The answers that are kept and then new ones; ends with the query, or after `timeout` idle seconds."""
        after, template = NONE, self._templates.of(self.handle)
        while (found := template.wait_for_answers(self.handle, after, timeout)) is not None:
            after = found.newest
            if found.rows.num_rows:
                yield found.rows

    def unregister(self) -> None:
        """End it."""
        self._templates.unregister([self.handle])

    def __repr__(self) -> str:
        return f"<registration {self.handle}>"

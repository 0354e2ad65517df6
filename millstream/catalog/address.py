"""Addresses of sources and sinks: `csv:data/open/*.csv`, `tcp:4446`, `rate:1000`, `console:`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from millstream.errors import SettingError


@dataclass(frozen=True)
class Address:
    """Where rows come from or go to: a kind, and what that kind makes of the rest.

    A relative place starts from the folder `base`, or from that of the mill if there is none.

    >>> Address.parse("csv:data/open/*.csv")
    Address(kind='csv', rest='data/open/*.csv')
    >>> Address.parse("port4445")
    Address(kind='tcp', rest='4445')
    """

    kind: str
    rest: str
    base: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read an address; the spelling of [Bai 2006], `port4445`, means `tcp:4445`."""
        if paper := re.fullmatch(r"port\s*(\d+)", text.strip(), re.IGNORECASE):
            return cls("tcp", paper[1])
        kind, colon, rest = text.strip().partition(":")
        if not colon or not re.fullmatch(r"[A-Za-z]\w*", kind):
            raise SettingError(f"'{text}' is not an address: write a kind, a colon and a place, as 'csv:data/*.csv'")
        # Other programs take either spelling of a PostgreSQL URL.
        return cls("postgres" if kind.lower() == "postgresql" else kind.lower(), rest.strip())

    def __str__(self) -> str:
        return f"{self.kind}:{self.rest}"

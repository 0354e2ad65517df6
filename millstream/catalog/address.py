"""Addresses of sources and sinks: `csv:data/open/*.csv`, `tcp:4446`, `rate:1000`, `console:`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from millstream.errors import SettingError, suggest

FILE_KINDS = ("csv", "json", "parquet")
SOURCE_KINDS = (*FILE_KINDS, "rate", "tcp")
SINK_KINDS = (*FILE_KINDS, "console", "memory", "noop")
LATER_KINDS = ("kafka", "postgres")


@dataclass(frozen=True)
class Address:
    """Where rows come from or go to: a kind, and what that kind makes of the rest.

    >>> Address.parse("csv:data/open/*.csv")
    Address(kind='csv', rest='data/open/*.csv')
    >>> Address.parse("port4445")
    Address(kind='tcp', rest='4445')
    """

    kind: str
    rest: str

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read an address; the spelling of the Stream Mill paper, `port4445`, means `tcp:4445`."""
        if paper := re.fullmatch(r"port\s*(\d+)", text.strip(), re.IGNORECASE):
            return cls("tcp", paper[1])
        kind, colon, rest = text.strip().partition(":")
        if not colon or not re.fullmatch(r"[A-Za-z]\w*", kind):
            raise SettingError(f"'{text}' is not an address: write a kind, a colon and a place, as 'csv:data/*.csv'")
        return cls(kind.lower(), rest.strip())

    def checked(self, kinds: tuple[str, ...], role: str) -> Address:
        """The address itself, if its kind can serve in that role."""
        if self.kind in LATER_KINDS:
            raise SettingError(f"'{self.kind}:' is not available yet: a {role} can be {_list(kinds)}")
        if self.kind not in kinds:
            raise SettingError(f"'{self.kind}:' is not a kind of {role}: {suggest(self.kind, kinds)}")
        if not self.rest and self.kind in (*FILE_KINDS, "rate", "tcp"):
            raise SettingError(f"'{self}' names no place: write '{self.kind}:{_EXAMPLE[self.kind]}'")
        return self

    def __str__(self) -> str:
        return f"{self.kind}:{self.rest}"


_EXAMPLE = {"csv": "data/*.csv", "json": "data/bids", "parquet": "data/items", "rate": "1000", "tcp": "4446"}


def _list(kinds: tuple[str, ...]) -> str:
    return ", ".join(f"'{k}:'" for k in kinds[:-1]) + f" or '{kinds[-1]}:'"

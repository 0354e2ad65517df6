"""Limits that keep one producer, or one machine, from taking the listener away from others."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from millstream.errors import SettingError

LINE_BYTES = 1 << 20


@dataclass(frozen=True)
class Limits:
    """The bounds of a listener, in connections, seconds and bytes.

    A connection is silent as long as it has finished no line: sending a line byte by byte does not keep it alive.
    One that is silent for `timeout` is ended. If all `connections` are taken, the newcomer gets the place of the one
    that has been silent longest, if that has lasted `patience` at least. `open_bytes` bounds the memory of all lines
    that have no end yet.
    """

    connections: int = 500
    per_address: int | None = None
    timeout: float = 600.0
    patience: float = 10.0
    line_bytes: int = LINE_BYTES
    open_bytes: int = 64 << 20

    def __post_init__(self) -> None:
        if self.per_address is not None and self.per_address > self.connections:
            raise SettingError(
                f"one address cannot have {self.per_address} of {self.connections} connections: "
                "option connections_per_address is at most option connections"
            )

    def for_address(self, address: str) -> int:
        """How many connections an address may have: a fifth of all, on this machine itself all of them.

        >>> Limits().for_address("192.0.2.7"), Limits().for_address("::1"), Limits(per_address=3).for_address("::1")
        (100, 500, 3)
        """
        if self.per_address is not None:
            return self.per_address
        return self.connections if is_loopback(address) else max(1, self.connections // 5)


def limits_of(options: Mapping[str, object]) -> Limits:
    """The limits that the OPTIONS of a stream say."""
    of_one = options["connections_per_address"]
    return Limits(
        connections=int(str(options["connections"])),
        per_address=None if of_one is None else int(str(of_one)),
        timeout=float(str(options["timeout"])),
    )


def is_loopback(address: str) -> bool:
    """Whether an address is of this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("::ffff:127.0.0.1"), is_loopback("fe80::1%eth0")
    (True, True, False)
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback


class Held(Protocol):
    """What the limits look at in a connection."""

    address: str
    silent_since: float
    last_word: bytes

    @property
    def open_bytes(self) -> int:
        """How many bytes of a line without an end it has sent."""
        ...

    def refuse(self, reason: str) -> None:
        """Take no more from it, and tell it why."""
        ...


H = TypeVar("H", bound=Held)


def refuse_silent(held: Iterable[H], limits: Limits) -> list[H]:
    """Refuse the connections that have been silent for too long."""
    before = time.monotonic() - limits.timeout
    return [_refuse(one, f"no line came for {limits.timeout:g} seconds") for one in _select_live(held, before)]


def refuse_for_room(held: Iterable[H], newcomer: H, limits: Limits) -> list[H]:
    """Refuse the newcomer, or whom it takes the place of, if there are too many."""
    live = [one for one in held if not one.last_word]
    most = limits.for_address(newcomer.address)
    if most < limits.connections and sum(one.address == newcomer.address for one in live) > most:
        return [_refuse(newcomer, f"more than {most} connections from {newcomer.address}")]
    if len(live) <= limits.connections:
        return []
    silent = _select_live((one for one in live if one is not newcomer), time.monotonic() - limits.patience)
    if not silent:
        return [_refuse(newcomer, f"more than {limits.connections} connections")]
    longest = min(silent, key=lambda one: one.silent_since)
    return [_refuse(longest, f"it made room for another: more than {limits.connections} connections")]


def refuse_open_lines(held: Iterable[H], limits: Limits) -> list[H]:
    """Refuse those with the longest lines without an end, until the others fit into memory."""
    live = sorted((one for one in held if not one.last_word), key=lambda one: one.open_bytes)
    total = sum(one.open_bytes for one in live)
    refused = []
    while total > limits.open_bytes:
        largest = live.pop()
        total -= largest.open_bytes
        refused.append(_refuse(largest, "too many lines without an end are held for all producers"))
    return refused


def _select_live(held: Iterable[H], before: float) -> list[H]:
    """Those that have not been refused yet, and have been silent since then."""
    return [one for one in held if not one.last_word and one.silent_since < before]


def _refuse(one: H, reason: str) -> H:
    one.refuse(reason)
    return one

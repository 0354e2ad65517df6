"""Lengths of time, numbers of rows and origins as text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from millstream.intervals import spoken


def duration(micros: int) -> str:
    """A length of time.

    >>> duration(90_000_000)
    '90 seconds'
    """
    return spoken(timedelta(microseconds=micros))


def rows(count: int) -> str:
    """A number of rows.

    >>> rows(1), rows(5)
    ('1 row', '5 rows')
    """
    return f"{count} row{'' if count == 1 else 's'}"


def preceding(reach: int | None, say: Callable[[int], str]) -> str:
    """How far a frame of OVER reaches back; None is without end.

    >>> preceding(9, str), preceding(None, str)
    ('9 PRECEDING', 'UNBOUNDED PRECEDING')
    """
    return "UNBOUNDED PRECEDING" if reach is None else f"{say(reach)} PRECEDING"


def moved_to(origin: int) -> str:
    """The part ORIGIN, behind a comma; nothing where windows are aligned to the epoch.

    >>> moved_to(1_000_000), moved_to(0)
    (", ORIGIN '1970-01-01T00:00:01'", '')
    """
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=origin)
    return f", ORIGIN '{moment.replace(tzinfo=None).isoformat()}'" if origin else ""

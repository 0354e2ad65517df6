"""Settings that SET changes: their names, defaults, and what each is for."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from millstream.catalog.heartbeats import Heartbeats, heartbeats
from millstream.catalog.options import Option, count
from millstream.errors import SettingError
from millstream.intervals import interval, spoken

AUTO = "auto"
SPARK = "spark"
MOST_BUCKETS = 1000


def bucket_count(text: str) -> int | None:
    """Read a number of buckets; None if it is to be chosen.

    >>> bucket_count("auto"), bucket_count("4")
    (None, 4)
    """
    if text.lower() == AUTO:
        return None
    if not text.isdigit() or not 1 <= int(text) <= MOST_BUCKETS:
        raise ValueError(f"auto, or a whole number from 1 to {MOST_BUCKETS}")
    return int(text)


def direct_reading(text: str) -> bool:
    """Read who reads files: whether stages may.

    >>> direct_reading("auto"), direct_reading("Spark")
    (True, False)
    """
    if text.lower() not in (AUTO, SPARK):
        raise ValueError("auto or spark")
    return text.lower() == AUTO


SETTINGS = {
    "trigger_interval": Option(
        interval, timedelta(0), "how long a query started from now on waits between two micro-batches"
    ),
    "results_kept": Option(
        count,
        1_000_000,
        "how many result rows a query started from now on keeps to be read; older ones are dropped",
    ),
    "heartbeats": Option(
        heartbeats,
        Heartbeats(),
        "when silent streams are given time stamps in queries started from now on: on demand, none, or every so often",
    ),
    "buckets": Option(
        bucket_count,
        None,
        "in how many parts by key a query started from now on does its work: auto (one for each core), or so many",
    ),
    "reader": Option(
        direct_reading,
        True,
        "who reads files in queries started from now on: auto (stages themselves, where they can), or spark",
    ),
}


class Settings:
    """The values in force."""

    def __init__(self) -> None:
        self._values: dict[str, object] = {name: option.default for name, option in SETTINGS.items()}

    def assign(self, name: str, text: str) -> None:
        """Change one setting, given as text."""
        try:
            self._values[name.lower()] = SETTINGS[name.lower()].read(text)
        except ValueError as problem:
            raise SettingError(f"{name} = '{text}' must be {problem}") from None

    def items(self) -> list[tuple[str, str, str]]:
        """Every setting as (name, value, what it is for)."""
        return [(name, _written(self._values[name]), option.what) for name, option in SETTINGS.items()]

    @property
    def trigger_interval(self) -> timedelta:
        """The pause between two micro-batches."""
        return cast("timedelta", self._values["trigger_interval"])

    @property
    def heartbeats(self) -> Heartbeats:
        """How silent streams are given time stamps."""
        return cast("Heartbeats", self._values["heartbeats"])

    @property
    def buckets(self) -> int | None:
        """The number of buckets; None if it is to be chosen."""
        return cast("int | None", self._values["buckets"])

    @property
    def direct(self) -> bool:
        """Whether stages may read files by themselves."""
        return cast("bool", self._values["reader"])

    @property
    def results_kept(self) -> int:
        """How many result rows a query keeps."""
        return cast("int", self._values["results_kept"])


def _written(value: object) -> str:
    if value is None or value is True:
        return AUTO
    if value is False:
        return SPARK
    return spoken(value) if isinstance(value, timedelta) else str(value)

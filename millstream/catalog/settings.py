"""Settings that SET changes: their names, defaults, and what each is for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import cast

from millstream.catalog.heartbeats import Heartbeats, heartbeats
from millstream.catalog.options import Option, count
from millstream.errors import SettingError
from millstream.intervals import interval, spoken

AUTO = "auto"
SPARK = "spark"
OFF = "off"
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


def sharing(text: str) -> str:
    """Read whether queries share the reading of a stream.

    >>> sharing("Off")
    'off'
    """
    if text.lower() not in (AUTO, OFF):
        raise ValueError("auto or off")
    return text.lower()


SETTINGS = {
    "trigger_interval": Option(
        interval, timedelta(0), "how long a query started from now on waits between two micro-batches"
    ),
    "results_kept": Option(
        count, 1_000_000, "how many result rows a query started from now on keeps to be read; older ones are dropped"
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
    "sharing": Option(
        sharing,
        AUTO,
        "whether queries started from now on share the reading of a stream: auto (where they can), or off",
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

    def copy(self) -> Settings:
        """The same values, apart from these."""
        made = Settings()
        made._values = dict(self._values)
        return made

    @property
    def texts(self) -> dict[str, str]:
        """The values that are not the defaults, as they are written."""
        return {name: _written(v) for name, v in self._values.items() if v != SETTINGS[name].default}

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Settings:
        """The values that were written so, and defaults for the others.

        >>> Settings.of({"buckets": "4"}).texts
        {'buckets': '4'}
        """
        made = cls()
        for name, text in texts.items():
            made.assign(name, text)
        return made

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
    def shares(self) -> bool:
        """Whether queries may share the reading of a stream."""
        return self._values["sharing"] == AUTO

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

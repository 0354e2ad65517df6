"""Everything that can be chosen about the auction house."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta

import numpy as np

from millstream.errors import SettingError

SHUFFLE = 953
"""What a place in a group is multiplied by; a prime, so that it only shuffles (see `Settings.arriving`)."""

_LEAST = {"seed": 0, "bid_proportion": 0, "person_lead": 0, "auction_lead": 0, "first_person": 0, "first_auction": 0}
_LEAST |= {"first_category": 0, "person_size": 0, "auction_size": 0, "bid_size": 0}
_MOST = {"seed": 2**63 - 1, "rate": 10**9, "person_size": 10_000, "auction_size": 10_000, "bid_size": 10_000}
_MOST_OTHERWISE = 10**9  # so that no sum of two of them leaves the 32 bits that are drawn from


@dataclass(frozen=True)
class Settings:
    """The settings of the NEXMark generator; the defaults are those of the benchmark.

    >>> Settings().total
    50
    >>> Settings(rate=0)
    Traceback (most recent call last):
    millstream.errors.SettingError: rate is 0, and must be a whole number from 1 to 1,000,000,000
    """

    seed: int = 1
    """What all randomness hangs on, besides the number of the event."""

    person_proportion: int = 1
    auction_proportion: int = 3
    bid_proportion: int = 46

    rate: int = 10_000
    """Events in a second of event time."""

    active_people: int = 1000
    """So many of the latest people sell and bid."""
    auctions_in_flight: int = 100
    """So many of the latest auctions get bids."""
    person_lead: int = 10
    """So many people may sell and bid before they appear."""
    auction_lead: int = 10
    """So many auctions may get bids before they open."""

    hot_auction_ratio: int = 2
    """All bids but one in so many are for the hot auction; the other ratios are alike."""
    hot_seller_ratio: int = 4
    hot_bidder_ratio: int = 4
    hot_channel_ratio: int = 2

    person_size: int = 200
    """The average size of a person in bytes, as the benchmark counts it (see `kernels`)."""
    auction_size: int = 500
    bid_size: int = 100

    group: int = 1
    """So many events in a row arrive out of order; 1: all are in order, and so they are for each divisor of 952."""

    first_person: int = 1000
    first_auction: int = 1000
    first_category: int = 10
    categories: int = 5

    base_time: datetime = datetime(2015, 7, 15, tzinfo=UTC)
    """The time of event 0, to the millisecond; that of Beam's generator."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "base_time":
                self._check(field.name)
        if self.group % SHUFFLE == 0:
            raise SettingError(f"group is {self.group}, and a multiple of {SHUFFLE} cannot be shuffled")
        if self.base_time.tzinfo is None:
            raise SettingError(f"base_time {self.base_time} has no time zone")
        if self.base_time.microsecond % 1000:
            raise SettingError(f"base_time {self.base_time} is not a whole millisecond")

    def _check(self, name: str) -> None:
        value, least, most = getattr(self, name), _LEAST.get(name, 1), _MOST.get(name, _MOST_OTHERWISE)
        if type(value) is not int or not least <= value <= most:
            raise SettingError(f"{name} is {value}, and must be a whole number from {least} to {most:,}")

    @property
    def total(self) -> int:
        """The events of one round: people first, then auctions, then bids."""
        return self.person_proportion + self.auction_proportion + self.bid_proportion

    @property
    def base_millis(self) -> int:
        """The time of event 0 in milliseconds since 1970."""
        return (self.base_time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)

    def arriving(self, first: int, last: int) -> np.ndarray:
        """The numbers of the events that arrive as number `first` up to, not including, `last`.

        Within a group of `group` events each place is taken by another one. The number decides on all that an event
        is, its time included: a larger group gives the same events in another order. The benchmark's factor leaves
        those groups in order whose size divides 952, as 4 and 7 do. If the last group is cut short, others of its
        events may be missing than the last ones.

        >>> Settings(group=5).arriving(5, 15).tolist()
        [5, 8, 6, 9, 7, 10, 13, 11, 14, 12]
        """
        places = np.arange(first, last, dtype=np.int64)
        if self.group == 1:
            return places
        return places // self.group * self.group + places % self.group * SHUFFLE % self.group

    def differing(self) -> dict[str, int | str]:
        """The settings that are not the defaults, the seed left out.

        >>> Settings(rate=500, seed=7).differing()
        {'rate': 500}
        """
        return {name: value for name, value in self.to_json().items() if name != "seed" and value != _DEFAULTS[name]}

    def to_json(self) -> dict[str, int | str]:
        """All settings by name; the base time as text."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"base_time": self.base_time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"}


_DEFAULTS = Settings().to_json()

"""Names in the catalog: found without regard to case, and not lost while others use them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from millstream.catalog.address import Address
from millstream.catalog.definitions import DerivedStream, Sink, Stream
from millstream.catalog.settings import Settings
from millstream.errors import SettingError
from millstream.intervals import UNITS, interval, spoken
from tests.language.auctions import catalog


def test_names_have_no_case() -> None:
    made = catalog()
    stream = made.relation("OPEN_Auction")
    assert isinstance(stream, Stream)
    assert stream.schema.find("PRICE") is not None
    assert made.sink("STDOUT") is not None


def test_users_of_streams_and_sinks() -> None:
    made = catalog()
    dear, alerts = made.relation("dear"), made.sink("alerts")
    assert dear is not None
    assert isinstance(alerts, Sink)
    assert made.users(dear) == ("hot",)
    assert made.users(alerts) == ()
    hot = made.query("hot")
    assert hot is not None
    made.add(DerivedStream("more", replace(hot.select, source="hot"), ""))  # reads a stream of the query's name
    assert made.users(hot) == ()


def test_an_internal_time_stamp_does_not_arrive() -> None:
    closed = catalog().relation("closed_auction")
    assert isinstance(closed, Stream)
    assert closed.arriving_schema.names == ("item_id", "buyer_id", "price")


@pytest.mark.parametrize("unit", UNITS)
def test_intervals_are_spoken_as_they_are_read(unit: str) -> None:
    for number in (1, 7):
        assert interval(spoken(number * UNITS[unit])) == number * UNITS[unit]


def test_settings() -> None:
    settings = Settings()
    settings.assign("TRIGGER_INTERVAL", "2 seconds")
    assert settings.trigger_interval == timedelta(seconds=2)
    with pytest.raises(SettingError, match="must be a length of time"):
        settings.assign("trigger_interval", "often")


@pytest.mark.parametrize("text", ["nothing", "1:x", ""])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(SettingError, match="is not an address"):
        Address.parse(text)

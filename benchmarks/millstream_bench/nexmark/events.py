"""The events of the auction house: people, auctions and bids.

Each event has a number, and the number and the seed decide on all of it. The sizes of records, the ids of those who
take part and the times follow the generator of Beam and of the Flink suite, whose draws cannot be repeated.

Ids of people start at `first_person`, and so do those of bidders and sellers: all of them join. (The suite adds that
number to bidders twice, so that bidders there are other people than they should be.)
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millstream_bench.nexmark import kernels
from millstream_bench.nexmark.kernels import SLACK, Numbers
from millstream_bench.nexmark.settings import Settings
from millstream_bench.nexmark.texts import CHANNEL_NAMES, CITIES, NAMES, STATES, texts, urls

TIME = pa.timestamp("us", tz="UTC")

PERSON = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("emailAddress", pa.string()),
        ("creditCard", pa.string()),
        ("city", pa.string()),
        ("state", pa.string()),
        ("dateTime", TIME),
        ("extra", pa.string()),
    ]
)
AUCTION = pa.schema(
    [
        ("id", pa.int64()),
        ("itemName", pa.string()),
        ("description", pa.string()),
        ("initialBid", pa.int64()),
        ("reserve", pa.int64()),
        ("dateTime", TIME),
        ("expires", TIME),
        ("seller", pa.int64()),
        ("category", pa.int64()),
        ("extra", pa.string()),
    ]
)
BID = pa.schema(
    [
        ("auction", pa.int64()),
        ("bidder", pa.int64()),
        ("price", pa.int64()),
        ("channel", pa.string()),
        ("url", pa.string()),
        ("dateTime", TIME),
        ("extra", pa.string()),
    ]
)

AT_ONCE = 1 << 16
"""Events that are made at once: their texts stay within the 2 GB of an Arrow array, and mostly within the cache."""

_CARD_SIZE = 19
_E_MAIL_SIZE = kernels.E_MAIL_USER + kernels.E_MAIL_HOST + 5


def events(first: int, last: int, settings: Settings) -> tuple[pa.Table, pa.Table, pa.Table]:
    """The people, auctions and bids among the events from `first` up to, not including, `last`, as they arrive.

    >>> [table.num_rows for table in events(0, 100, Settings())]
    [2, 6, 92]
    >>> events(50, 100, Settings())[0]["id"].to_pylist()
    [1001]
    """
    kinds: tuple[list[pa.RecordBatch], ...] = ([], [], [])
    for start in range(first, last, AT_ONCE):
        arriving = settings.arriving(start, min(start + AT_ONCE, last))
        places = arriving % settings.total
        is_person = places < settings.person_proportion
        is_bid = places >= settings.person_proportion + settings.auction_proportion
        numbers = _numbers(settings)
        kinds[0].append(_people(arriving[is_person], numbers))
        kinds[1].append(_auctions(arriving[~is_person & ~is_bid], numbers))
        kinds[2].append(_bids(arriving[is_bid], numbers, urls(settings.seed)))
    people, auctions, bids = (
        pa.Table.from_batches(batches, schema) for batches, schema in zip(kinds, (PERSON, AUCTION, BID), strict=True)
    )
    return people, auctions, bids


def _numbers(settings: Settings) -> Numbers:
    values = {name: getattr(settings, name) for name in Numbers._fields}
    return Numbers(**(values | {"seed": np.uint64(settings.seed)}))


def _people(numbers_of_events: np.ndarray, numbers: Numbers) -> pa.RecordBatch:
    count = len(numbers_of_events)
    rows, ends = np.empty((5, count), np.int64), np.zeros((3, count + 1), np.int32)
    e_mails, cards = _buffer(count, _E_MAIL_SIZE), _buffer(count, _CARD_SIZE)
    extras = _extras(count, numbers.person_size)
    sizes = (_sizes(NAMES), _sizes(CITIES), _sizes(STATES))
    kernels.person_rows(numbers_of_events, numbers, *sizes, rows, ends, e_mails, cards, extras)
    columns = [
        pa.array(rows[0]),
        NAMES.take(pa.array(rows[2])),
        texts(ends[0], e_mails),
        texts(ends[1], cards),
        CITIES.take(pa.array(rows[3])),
        STATES.take(pa.array(rows[4])),
        _times(rows[1]),
        texts(ends[2], extras),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=PERSON)


def _auctions(numbers_of_events: np.ndarray, numbers: Numbers) -> pa.RecordBatch:
    count = len(numbers_of_events)
    rows, ends = np.empty((7, count), np.int64), np.zeros((3, count + 1), np.int32)
    names, descriptions = _buffer(count, kernels.ITEM_NAME), _buffer(count, kernels.DESCRIPTION)
    extras = _extras(count, numbers.auction_size)
    kernels.auction_rows(numbers_of_events, numbers, rows, ends, names, descriptions, extras)
    columns = [
        pa.array(rows[0]),
        texts(ends[0], names),
        texts(ends[1], descriptions),
        pa.array(rows[1]),
        pa.array(rows[2]),
        _times(rows[3]),
        _times(rows[4]),
        pa.array(rows[5]),
        pa.array(rows[6]),
        texts(ends[2], extras),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=AUCTION)


def _bids(numbers_of_events: np.ndarray, numbers: Numbers, addresses: pa.StringArray) -> pa.RecordBatch:
    count = len(numbers_of_events)
    rows, ends = np.empty((5, count), np.int64), np.zeros((1, count + 1), np.int32)
    extras = _extras(count, numbers.bid_size)
    kernels.bid_rows(numbers_of_events, numbers, rows, ends, extras)
    channels = pa.array(rows[4])
    columns = [
        pa.array(rows[0]),
        pa.array(rows[1]),
        pa.array(rows[2]),
        CHANNEL_NAMES.take(channels),
        addresses.take(channels),
        _times(rows[3]),
        texts(ends[0], extras),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=BID)


def _buffer(count: int, size: int) -> np.ndarray:
    return np.empty(count * size + SLACK, np.uint8)


def _extras(count: int, average: int) -> np.ndarray:
    """Room for extras: none is longer than the average size of a record and a fifth of it."""
    return _buffer(count, average * 6 // 5 + 1)


def _sizes(texts_to_choose: pa.StringArray) -> np.ndarray:
    return np.array([len(text) for text in texts_to_choose.to_pylist()])


def _times(millis: np.ndarray) -> pa.Array:
    return pa.array(millis * 1000).cast(TIME)

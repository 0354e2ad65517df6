"""The numbers and letters of events, compiled.

Randomness counts instead of running on: draw number d of event k is a hash of (seed, k, d), that of splitmix64.
So an event depends on its own number and the seed alone, and any range of events can be made by itself.

All compiled functions stand in this file, because numba keeps what it compiled until this file changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np

HOT_BATCH = 100
"""The first auction, seller (and second bidder) of each so many are the hot ones."""

HOT_CHANNELS = 4
CHANNELS = 10_000

# What the benchmark counts of a record besides the texts before `extra`. It leaves out the time of a person, and the
# channel and the URL of a bid, which came later: so bids are larger than their average size says.
PERSON_NUMBERS_SIZE = 8
AUCTION_NUMBERS_SIZE = 48
BID_NUMBERS_SIZE = 32

SHORTEST = 3
ITEM_NAME = 20
DESCRIPTION = 100
E_MAIL_USER = 7
E_MAIL_HOST = 5
DIRECTORY = 5

SLACK = 16
"""Bytes behind the end of a buffer: letters are written ten at once."""

_A, _BLANK, _UNDERSCORE, _ZERO, _AT = (np.uint8(ord(letter)) for letter in "a _0@")
_DOT_COM = np.frombuffer(b".com", np.uint8)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
_11, _27, _30, _31, _32 = (np.uint64(bits) for bits in (11, 27, 30, 31, 32))
_LOW = np.uint64(0xFFFFFFFF)
_LETTERS = np.uint64(26)
# A blank has 13 of 169 chances, which is one in 13, and each letter 6 of them.
_CHANCES = np.uint64(169)
_BLANK_CHANCES = 13
_LETTER_CHANCES = 6
_URLS = 2**62  # behind every event that has a number

Compiled = TypeVar("Compiled", bound=Callable[..., Any])


def _compiled(signature: str | None = None) -> Callable[[Compiled], Compiled]:
    """Compile a function, and keep it for later runs where there is a place to keep it.

    Without a signature this happens at the first call, and anew for each constant that is given to it.
    """

    def compiled(function: Compiled) -> Compiled:
        try:
            made = numba.njit(signature, cache=True, nogil=True, error_model="numpy")(function)
        except RuntimeError:  # no folder that can be written to
            made = numba.njit(signature, nogil=True, error_model="numpy")(function)
        return cast("Compiled", made)

    return compiled


class Numbers(NamedTuple):
    """The settings that the kernels need: those of `Settings` by the same names."""

    seed: np.uint64
    person_proportion: int
    auction_proportion: int
    total: int
    rate: int
    base_millis: int
    active_people: int
    auctions_in_flight: int
    person_lead: int
    auction_lead: int
    hot_auction_ratio: int
    hot_seller_ratio: int
    hot_bidder_ratio: int
    hot_channel_ratio: int
    person_size: int
    auction_size: int
    bid_size: int
    first_person: int
    first_auction: int
    first_category: int
    categories: int


# -- draws -----------------------------------------------------------------------------------------------------


@_compiled("uint64(uint64)")
def _mixed(number: np.uint64) -> np.uint64:
    number = (number ^ (number >> _30)) * _FIRST_FACTOR
    number = (number ^ (number >> _27)) * _SECOND_FACTOR
    return number ^ (number >> _31)


@_compiled("uint64(uint64, int64)")
def _draw(state: np.uint64, number: int) -> np.uint64:
    """64 bits. A draw is as good as a state, to draw from in turn."""
    return _mixed(state + np.uint64(number) * _GOLDEN)


@_compiled()
def _event(seed: np.uint64, number: int) -> np.uint64:
    """The state of an event."""
    return _draw(_mixed(seed + _GOLDEN), number)


@_compiled("int64(uint64, int64)")
def _below(bits: np.uint64, end: int) -> int:
    """A whole number in [0, end), for ends of up to 32 bits."""
    # Signed: numba makes a float of a sum of signed and unsigned numbers.
    return int(np.int64(((bits >> _32) * np.uint64(end)) >> _32))


@_compiled()
def _price(bits: np.uint64) -> int:
    """A price from 100 to 10^8; its logarithm is uniform."""
    return int(np.floor(100.0 * 10.0 ** (6.0 * (np.float64(bits >> _11) * 2.0**-53)) + 0.5))


@_compiled()
def _millis(number: int, numbers: Numbers) -> int:
    """The time of an event."""
    return numbers.base_millis + number * 1000 // numbers.rate


@_compiled()
def _last_person(number: int, numbers: Numbers) -> int:
    """The latest person, counted from 0, when an event happens: itself if it is one."""
    rounds, place = number // numbers.total, number % numbers.total
    return rounds * numbers.person_proportion + min(place, numbers.person_proportion - 1)


@_compiled()
def _last_auction(number: int, numbers: Numbers) -> int:
    """The latest auction, counted from 0, when an auction opens or a bid is made: itself if it is one."""
    rounds, place = number // numbers.total, number % numbers.total
    return rounds * numbers.auction_proportion + min(place - numbers.person_proportion, numbers.auction_proportion - 1)


@_compiled()
def _some_person(bits: np.uint64, last: int, numbers: Numbers) -> int:
    """One of the active people, or of those about to appear."""
    active = min(last + 1, numbers.active_people)
    return last + 1 - active + _below(bits, active + numbers.person_lead)


@_compiled()
def _some_auction(bits: np.uint64, last: int, numbers: Numbers) -> int:
    """One of the auctions in flight, or of those about to open."""
    first = max(last - numbers.auctions_in_flight, 0)
    return first + _below(bits, last - first + 1 + numbers.auction_lead)


# -- texts -----------------------------------------------------------------------------------------------------


@_compiled("int64(uint8[::1], int64, int64, uint64)")
def _letters(data: np.ndarray, at: int, count: int, state: np.uint64) -> int:
    """Write so many letters; the end of them. Up to nine more bytes behind the end are overwritten."""
    end = at + count
    number = 0
    while at < end:
        bits = _draw(state, number)
        number += 1
        low, high = bits & _LOW, bits >> _32
        for place in range(at, at + 5):
            low, high = low * _LETTERS, high * _LETTERS
            data[place] = _A + np.uint8(low >> _32)
            data[place + 5] = _A + np.uint8(high >> _32)
            low, high = low & _LOW, high & _LOW
        at += 10
    return end


@_compiled("int64(uint8[::1], int64, int64, uint8, uint64)")
def _text(data: np.ndarray, start: int, most: int, blank: np.uint8, state: np.uint64) -> int:
    """Write 3 to `most` - 1 letters and blanks; the end of them.

    Blanks at both ends are left out, but not other characters in their place. If nothing is left it becomes one
    letter: readers of CSV take a field that is empty for NULL.
    """
    left = SHORTEST + _below(_draw(state, 0), most - SHORTEST)
    at = start
    number = 1
    while left > 0:
        bits = _draw(state, number)
        number += 1
        for half in range(2):
            chances = bits & _LOW if half == 0 else bits >> _32
            for _ in range(min(left, 3)):
                chances *= _CHANCES
                chance = np.int64(chances >> _32) - _BLANK_CHANCES
                chances &= _LOW
                left -= 1
                if chance >= 0:
                    data[at] = _A + np.uint8(chance // _LETTER_CHANCES)
                    at += 1
                elif at > start or blank != _BLANK:
                    data[at] = blank
                    at += 1
    while at > start and data[at - 1] == _BLANK:
        at -= 1
    return at if at > start else _letters(data, at, 1, _draw(state, number))


@_compiled()
def _digits(data: np.ndarray, at: int, number: int) -> int:
    """Write four digits; the end of them."""
    for place in range(3, -1, -1):
        data[at + place] = _ZERO + np.uint8(number % 10)
        number //= 10
    return at + 4


@_compiled("int64(uint8[::1], int64, int64, int64, uint64)")
def _extra(data: np.ndarray, at: int, size: int, average: int, state: np.uint64) -> int:
    """Write what lacks to the average size, up to a fifth of it more or less; the end of it."""
    lacking = max(average - size, 0)
    spread = (2 * lacking + 5) // 10
    return _letters(data, at, lacking - spread + _below(_draw(state, 0), 2 * spread), _draw(state, 1))


# -- records ---------------------------------------------------------------------------------------------------


@_compiled()
def person_rows(
    events: np.ndarray,
    numbers: Numbers,
    name_sizes: np.ndarray,
    city_sizes: np.ndarray,
    state_sizes: np.ndarray,
    rows: np.ndarray,
    ends: np.ndarray,
    e_mails: np.ndarray,
    cards: np.ndarray,
    extras: np.ndarray,
) -> None:
    """Fill in people: id, time, and which name, city and state; ends of e-mail, card and extra, and their bytes."""
    e_mail, card, extra = 0, 0, 0
    for row, event in enumerate(events):
        state = _event(numbers.seed, event)
        name = _below(_draw(state, 0), len(name_sizes))
        city = _below(_draw(state, 1), len(city_sizes))
        country = _below(_draw(state, 2), len(state_sizes))
        rows[0, row] = numbers.first_person + _last_person(event, numbers)
        rows[1, row] = _millis(event, numbers)
        rows[2, row], rows[3, row], rows[4, row] = name, city, country
        start = e_mail
        e_mail = _text(e_mails, e_mail, E_MAIL_USER, _BLANK, _draw(state, 3))
        e_mails[e_mail] = _AT
        e_mail = _text(e_mails, e_mail + 1, E_MAIL_HOST, _BLANK, _draw(state, 4))
        e_mails[e_mail : e_mail + 4] = _DOT_COM
        e_mail += 4
        for part in range(4):
            if part > 0:
                cards[card] = _BLANK
                card += 1
            card = _digits(cards, card, _below(_draw(state, 5 + part), 10_000))
        size = PERSON_NUMBERS_SIZE + name_sizes[name] + e_mail - start + 19 + city_sizes[city] + state_sizes[country]
        extra = _extra(extras, extra, size, numbers.person_size, _draw(state, 9))
        ends[0, row + 1], ends[1, row + 1], ends[2, row + 1] = e_mail, card, extra


@_compiled()
def auction_rows(
    events: np.ndarray,
    numbers: Numbers,
    rows: np.ndarray,
    ends: np.ndarray,
    names: np.ndarray,
    descriptions: np.ndarray,
    extras: np.ndarray,
) -> None:
    """Fill in auctions: id, first bid, reserve, both times, seller, category; ends of the texts, and their bytes."""
    name, description, extra = 0, 0, 0
    ahead = numbers.auctions_in_flight * numbers.total // numbers.auction_proportion
    for row, event in enumerate(events):
        state = _event(numbers.seed, event)
        millis = _millis(event, numbers)
        last_person = _last_person(event, numbers)
        if _below(_draw(state, 0), numbers.hot_seller_ratio) > 0:
            seller = last_person // HOT_BATCH * HOT_BATCH
        else:
            seller = _some_person(_draw(state, 1), last_person, numbers)
        first_bid = _price(_draw(state, 2))
        horizon = _millis(event + ahead, numbers) - millis
        rows[0, row] = numbers.first_auction + _last_auction(event, numbers)
        rows[1, row] = first_bid
        rows[2, row] = first_bid + _price(_draw(state, 3))
        rows[3, row] = millis
        rows[4, row] = millis + 1 + np.int64(_draw(state, 4) >> _11) % max(1, 2 * horizon)
        rows[5, row] = numbers.first_person + seller
        rows[6, row] = numbers.first_category + _below(_draw(state, 5), numbers.categories)
        starts = name + description
        name = _text(names, name, ITEM_NAME, _BLANK, _draw(state, 6))
        description = _text(descriptions, description, DESCRIPTION, _BLANK, _draw(state, 7))
        size = AUCTION_NUMBERS_SIZE + name + description - starts
        extra = _extra(extras, extra, size, numbers.auction_size, _draw(state, 8))
        ends[0, row + 1], ends[1, row + 1], ends[2, row + 1] = name, description, extra


@_compiled()
def bid_rows(events: np.ndarray, numbers: Numbers, rows: np.ndarray, ends: np.ndarray, extras: np.ndarray) -> None:
    """Fill in bids: auction, bidder, price, time and which channel, the hot ones first; ends of extra, its bytes."""
    extra = 0
    for row, event in enumerate(events):
        state = _event(numbers.seed, event)
        last_auction, last_person = _last_auction(event, numbers), _last_person(event, numbers)
        if _below(_draw(state, 0), numbers.hot_auction_ratio) > 0:
            auction = last_auction // HOT_BATCH * HOT_BATCH
        else:
            auction = _some_auction(_draw(state, 1), last_auction, numbers)
        if _below(_draw(state, 2), numbers.hot_bidder_ratio) > 0:
            bidder = last_person // HOT_BATCH * HOT_BATCH + 1  # never the hot seller
        else:
            bidder = _some_person(_draw(state, 3), last_person, numbers)
        if _below(_draw(state, 4), numbers.hot_channel_ratio) > 0:
            channel = _below(_draw(state, 5), HOT_CHANNELS)
        else:
            channel = HOT_CHANNELS + _below(_draw(state, 5), CHANNELS)
        rows[0, row] = numbers.first_auction + auction
        rows[1, row] = numbers.first_person + bidder
        rows[2, row] = _price(_draw(state, 6))
        rows[3, row] = _millis(event, numbers)
        rows[4, row] = channel
        extra = _extra(extras, extra, BID_NUMBERS_SIZE, numbers.bid_size, _draw(state, 7))
        ends[0, row + 1] = extra


@_compiled()
def url_rows(seed: np.uint64, tagged: np.ndarray, ends: np.ndarray, directories: np.ndarray) -> None:
    """Fill in what the URL of each channel hangs on: whether it tells the channel, and its three directories."""
    at = 0
    for channel in range(len(tagged)):
        state = _event(seed, _URLS + channel)
        tagged[channel] = _below(_draw(state, 0), 10) > 0
        for part in range(3):
            if part > 0:
                directories[at] = np.uint8(ord("/"))
                at += 1
            at = _text(directories, at, DIRECTORY, _UNDERSCORE, _draw(state, 1 + part))
        ends[channel + 1] = at

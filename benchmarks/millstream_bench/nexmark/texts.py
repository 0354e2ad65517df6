"""Texts that are chosen from a list: names, places, and channels with their URLs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream_bench.nexmark import kernels
from millstream_bench.nexmark.kernels import CHANNELS

_FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
_LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
_SOUTH = ("Phoenix", "Los Angeles", "San Francisco")
_NORTH = ("Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne")

NAMES = pa.array([f"{first} {last}" for first in _FIRST_NAMES for last in _LAST_NAMES])
CITIES = pa.array([*_SOUTH, *_NORTH])
STATES = pa.array(["AZ", "CA", "ID", "OR", "WA", "WY"])
HOT_CHANNEL_NAMES = ("Google", "Facebook", "Baidu", "Apple")
CHANNEL_NAMES = pa.array([*HOT_CHANNEL_NAMES, *(f"channel-{number}" for number in range(CHANNELS))])
"""The hot ones first, as the kernels count them."""


@lru_cache(maxsize=8)
def urls(seed: int) -> pa.StringArray:
    """The URL of each channel, in the order of their names; a channel keeps its own.

    Nine in ten of those that are not hot tell a channel id: the number of the channel with its 32 bits reversed,
    without its sign. Java cannot take the sign from -2^31, that of channel-1, and keeps it; here there is none.
    """
    count = len(CHANNEL_NAMES)
    tagged, ends = np.zeros(count, np.bool_), np.zeros(count + 1, np.int32)
    directories = np.empty(count * 3 * kernels.DIRECTORY + kernels.SLACK, np.uint8)
    kernels.url_rows(np.uint64(seed), tagged, ends, directories)
    tagged[: len(HOT_CHANNEL_NAMES)] = False
    ids = np.concatenate((np.zeros(len(HOT_CHANNEL_NAMES), np.int64), channel_ids(np.arange(CHANNELS))))
    return pc.binary_join_element_wise(
        "https://www.nexmark.com/",
        texts(ends, directories),
        "/item.htm?query=1",
        pc.if_else(
            pa.array(tagged), pc.binary_join_element_wise("&channel_id=", pa.array(ids).cast(pa.string()), ""), ""
        ),
        "",
    )


def channel_ids(numbers: np.ndarray) -> np.ndarray:
    """The ids that URLs tell.

    >>> channel_ids(np.array([0, 1, 2, 3])).tolist()
    [0, 2147483648, 1073741824, 1073741824]
    """
    turned = np.zeros(len(numbers), np.uint32)
    for bit in range(32):
        turned |= (numbers.astype(np.uint32) >> np.uint32(bit) & np.uint32(1)) << np.uint32(31 - bit)
    return np.abs(turned.view(np.int32).astype(np.int64))


def texts(ends: np.ndarray, data: np.ndarray) -> pa.StringArray:
    """An Arrow array of the bytes between the ends; the first end is 0."""
    return pa.StringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(data[: ends[-1]]))

"""A table of values that make trouble, with columns of every type that more than one evaluator knows.

Of each type there are three columns: every value of `a_` meets every value of `b_`, and `w_` has many values.
"""

import datetime as dt
import math
import random
import struct
from decimal import Decimal
from functools import cache

import pyarrow as pa

from millstream.catalog.arrow import to_arrow
from millstream.catalog.schema import sql_type

SIDE = 25
"""No pool has more values, with the NULL that is added to each."""

EPOCH = dt.date(1970, 1, 1)
DAY = 86_400_000_000


def day(year, month=1, date=1):
    return (dt.date(year, month, date) - EPOCH).days


def moment(year, month=1, date=1, micros=0):
    return day(year, month, date) * DAY + micros


def whole(bits):
    top = 2 ** (bits - 1)
    near = [0, 1, -1, 2, -2, 3, 7, -7, 10, 45, -55, 100, -128, 127, top - 1, -top, top - 2, 1 - top, top // 2]
    return list(dict.fromkeys(v for v in near if -top <= v < top))


def decimals(*texts):
    return [Decimal(text) for text in texts]


def float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


FRACTIONS = [0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.5, 0.1, 0.3, 1e-7, 123456.789, 1e7, 2.0**31, -(2.0**31) - 1, 2.0**53]
DOUBLES = [*FRACTIONS, 2.0**63, -(2.0**63), 1e300, -1e300, 5e-324, math.nan, math.inf, -math.inf]
FLOATS = [*map(float32, FRACTIONS), 2.0**63, 3.4028234663852886e38, 1e-45, math.nan, math.inf, -math.inf]
NINES = "9" * 28 + "." + "9" * 10

POOLS = {
    "boolean": [True, False],
    "tinyint": whole(8),
    "smallint": whole(16),
    "int": whole(32),
    "bigint": [*whole(64), 2**31, 2**53 + 1, 3037000500],
    "float": FLOATS,
    "double": DOUBLES,
    "decimal(5,2)": decimals("0.00", "1.00", "-1.00", "0.01", "0.05", "-2.50", "1.25", "999.99", "-999.99", "7.00"),
    "decimal(18,6)": decimals(
        *("0.000000", "1.000000", "-1.500000", "0.000001", "0.333333", "2.500000", "-0.500000"),
        *("999999999999.999999", "-999999999999.999999", "123456789.123456", "9223372036.854775"),
    ),
    "decimal(20,0)": decimals("0", "1", "-1", "3", "9223372036854775807", "-9223372036854775808", "9" * 20, "55"),
    "decimal(38,10)": decimals(
        *("0E-10", "1.0000000000", "-1.5000000000", "0.0000000001", NINES, f"-{NINES}", "12345.6780000000"),
        *("9223372036854775807.9999999999", "0.5000000000", "-0.3333333333"),
    ),
    "string": [
        *("", " ", "a", "A", "ab", "abc", "a%b", "a_b", "straße", "ΌΣΟΣ", "İx", "😀b", "é", "e\u0301", "a\nb"),
        *(" a\t", "10", "-1.5", "2024-02-29", "1e3", "true", "ﬁ"),
    ],
    "date": [
        *(0, -1, 1, day(1), day(9999, 12, 31), day(2024, 2, 29), day(2023, 2, 28), day(1900, 3, 1), day(2000, 2, 29)),
        *(day(2024, 12, 30), day(2021, 1, 3), day(1969, 12, 31), day(2024, 1, 31), day(1582, 10, 15), day(1582, 10, 4)),
    ],
    "timestamp": [
        *(0, -1, 1, moment(1), moment(9999, 12, 31, DAY - 1), moment(2024, 2, 29, 43_200_000_001), moment(1900, 3, 1)),
        *(moment(2024, 3, 31, 3_600_000_000), moment(1969, 12, 31, DAY - 1), moment(1582, 10, 15), 999_999, 1_500_000),
        *(moment(2024, 1, 31, 86_399_999_999), moment(2000, 2, 29, 120_000_000), moment(2021, 1, 3), -1_000_001),
    ],
}
POOLS["timestamp_ntz"] = POOLS["timestamp"]

NAMES = {
    type_: type_.replace("decimal(", "dec").replace(",", "_").replace(")", "").replace("timestamp", "ts")
    for type_ in POOLS
}
"""What the columns of a type are called, after `a_`, `b_` and `w_`."""

TYPES = {f"{side}_{NAMES[type_]}": sql_type(type_) for side in "abw" for type_ in POOLS}
"""The columns of the table."""


def column(side, type_):
    """The name of a column."""
    return f"{side}_{NAMES[type_]}"


WRITTEN = [
    *("0", "-0", "+0", "007", "127", "128", "-128", "-129", "32768", "2147483647", "2147483648", "-2147483649"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "12.5", "-12.", ".5", "-.5", ".", "-"),
    *("+", "1e3", "1E-3", "1e", "1e400", "-1e400", "1e-400", "1f", "1d", "2D", "1.5F", "3L", "0x10", "1_000", "1 2"),
    *("NaN", "nan", "NAN", "-NaN", "+nan", "Infinity", "infinity", "+Infinity", "-INF", "inf", "infinit", "\u0661"),
    *("\u00a012", "12\u00a0", "\u200312", "\t12\n", "\x0012", "12\x00", "\x1f1", "1" * 70, "0" * 70 + "5"),
    *("0." + "1" * 50, "123456789012345678901234567890", "99999.995", "999.995", "999.994", "1e37", "1e38", "-1e-38"),
    *("t", "T", "true", "TRUE", " true ", "tru", "y", "Yes", "1", "f", "FALSE", "no", "N", "0 ", "on", "off", "2"),
    *("2024-02-29", "2023-02-29", "2024-2-9", "2024-02", "2024", "24-02-29", "02024-02-29", "20240229", " 2024-02-29 "),
    *("2024-02-29 ", "2024-02-29T", "2024-02-29 x", "2024-02-29 25:00:00", "2024-13-01", "2024-00-10", "2024-01-00"),
    *("-0001-01-01", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "+2024-01-01", "-2024-01-01", "2024-1-"),
    *("2024-02-29 12", "2024-02-29 12:34", "2024-02-29 1:2:3", "2024-02-29 12:34:56", "2024-02-29T12:34:56Z"),
    *("2024-02-29 12:34:56.", "2024-02-29 12:34:56.1", "2024-02-29 12:34:56.123456", "2024-02-29 12:34:56.1234567"),
    *("2024-02-29 12:34:56.123456789", "2024-02-29 12:34:56.1234567891", "2024-02-29 24:00:00", "2024-02-29 23:60:00"),
    *("2024-02-29 12:34:56+01:00", "2024-02-29 12:34:56 +01:00", "2024-02-29 12:34:56-0830", "2024-02-29 12:34:56+1"),
    *("2024-02-29 12:34:56+18:00", "2024-02-29 12:34:56+18:01", "2024-02-29 12:34:56+19", "2024-02-29 12:34:56 UTC"),
    *("2024-02-29 12:34:56 utc", "2024-02-29 12:34:56UTC+1", "2024-02-29 12:34:56 GMT+01:00", "2024-02-29 12:34:56z"),
    *("2024-02-29 12:34:56 Europe/Berlin", "2024-03-31 02:30:00 Europe/Berlin", "2024-02-29 12:34:56 CET", "12:34:56"),
    *("2024-02-29 12:34:56 +1:0", "2024-02-29 12:34:56+0100", "2024-02-29 12:34:56+010", "T12:34", "12:34", "2024-02Z"),
    *("2024-02-29 12:34:56+01:00:30", "2024-02-29  12:34:56", "2024-02-29t12:34:56", "2024-02-29Z", "2024-02-29+01:00"),
    *(
        "9999-12-31 23:59:59.999999",
        "0001-01-01 00:00:00",
        "294247-01-10 04:00:54.775807",
        "294248-01-01",
        "99999-01-01",
    ),
    *("1969-12-31 23:59:59.999999", "1582-10-10", "1900-02-29", "epoch", "now", "today", "1970-01-01 00:00:00.000001"),
]


def letters():
    """Texts with every character that has an upper or a lower case of its own, and some words."""
    cased = [c for c in map(chr, range(0x80, 0x1E950)) if not 0xD800 <= ord(c) < 0xE000 and c != c.swapcase()]
    words = [*("ΑΣ", "ΑΣ.", "ΑΣΑ", "Σ", "ΣΑΣ ΣΑΣ", "ᾳ", "ŉ", "ǰ", "ΐ", "ﬃ", "Ǆ", "ǅ", "\u0131", "I", "İ", "\u017f")]
    words += ["ẞ", "\u212a", "ά\u0345"]
    return words + ["".join(cased[i : i + 40]) for i in range(0, len(cased), 40)]


def many(type_, chance, count):
    """Values drawn from everything that the type can hold."""
    match type_:
        case "boolean":
            return [chance.random() < 0.5 for _ in range(count)]
        case "tinyint" | "smallint" | "int" | "bigint":
            bits = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}[type_]
            return [
                chance.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1)) >> chance.randrange(bits) for _ in range(count)
            ]
        case "double":
            spread = [chance.uniform(-1, 1) * 10 ** chance.uniform(-20, 20) for _ in range(count // 3)]
            near = [chance.randrange(-(10**6), 10**6) / 1000 for _ in range(count // 3)]
            return [*spread, *near, *(struct.unpack("d", chance.randbytes(8))[0] for _ in range(count // 3))]
        case "float":
            near = [float32(chance.randrange(-(10**6), 10**6) / 1000) for _ in range(count // 2)]
            return [*near, *(struct.unpack("f", chance.randbytes(4))[0] for _ in range(count // 2))]
        case "date":
            return [chance.randrange(day(1), day(9999, 12, 31)) for _ in range(count)]
        case "timestamp" | "timestamp_ntz":
            return [chance.randrange(moment(1), moment(9999, 12, 31)) for _ in range(count)]
        case "string":
            return [*WRITTEN, *letters()]
    kind = to_arrow(sql_type(type_))
    top = 10**kind.precision
    return [Decimal(chance.randrange(1 - top, top) // 10 ** chance.randrange(kind.precision)).scaleb(-kind.scale)
            for _ in range(count)]  # fmt: skip


def array(values, type_):
    kind = to_arrow(sql_type(type_))
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, pa.int32()).cast(kind) if pa.types.is_date(kind) else pa.array(values, kind)


@cache
def _drawn():
    chance = random.Random(7)
    columns = {}
    for type_, pool in POOLS.items():
        found = [None, *pool]
        assert len(found) <= SIDE
        rows = [divmod(row, SIDE) for row in range(SIDE * SIDE)]
        columns[column("a", type_)] = array([found[i % len(found)] for i, _ in rows], type_)
        columns[column("b", type_)] = array([found[j % len(found)] for _, j in rows], type_)
        wide = [*found, *many(type_, chance, SIDE * SIDE)][: SIDE * SIDE]
        wide += chance.choices(wide, k=SIDE * SIDE - len(wide))
        columns[column("w", type_)] = array(wide, type_)
    return {name: columns[name] for name in TYPES}


def table():
    """The table."""
    return pa.table(_drawn())


def replace(name, values):
    """Put other values into a column."""
    _drawn()[name] = pa.array(values, _drawn()[name].type)

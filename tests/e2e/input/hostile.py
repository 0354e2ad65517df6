"""Hostile inputs, drawn with a seed: names, bytes, times, files and orders; and how many rows stand in them."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HEADER = b"id,name,ts"
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
_BOM = b"\xef\xbb\xbf"
_NASTY = (
    *(b'"', b'""', b",", b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b" ", b"\t", b"\x1a", b"\\", b"'", b"{", b"}", b"["),
    *(b"]", b":", b"#", b"NaN", b"1e999", b"\x0b", b"\x85", "\u2028".encode(), "\ufeff".encode(), "\ue000".encode()),
)
_NAMES = ("a b", "50%", "caf\u00e9", "x#1", "p+q", "a&b", "it's", "semi;colon", "comma,", "at@", "%2E", "\u65e5\u672c")


class Author:
    """Writes hostile lines and files; the same seed, the same ones."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self._made = 0

    def csv_line(self) -> bytes:
        """A line of CSV, most of them good; some are empty."""
        name = self.chance.choice([b"ann", b"", b'""', b'"x, y"', b'"q""q"', "h\u00e9".encode(), b"5' 6\""])
        return self._spoilt(b"%d,%b,%b" % (self._number(), name, self._time()))

    def json_line(self) -> bytes:
        """A line with an object, most of them good; some are empty."""
        name = self.chance.choice([b'"ann"', b"null", b'{"a":[1,{}]}', b'"}"', b'"\\u0000\\ud800"', b'"x","name":"y"'])
        return self._spoilt(b'{"id":%d,"name":%b,"ts":"%b"}' % (self._number(), name, self._time()))

    def text_file(self, lines: list[bytes], header: bytes | None) -> bytes:
        """A file of these lines, with line ends of some kind."""
        end = self.chance.choice([b"\n", b"\n", b"\r\n", b"\r"])
        start = _BOM if self.chance.random() < 0.2 else b""
        whole = [*([header] if header is not None else []), *lines]
        return start + end.join(whole) + (end if self.chance.random() < 0.6 else b"")

    def table(self, rows: int) -> pa.Table:
        """Rows for a file of Parquet, in one of the types that fit."""
        numbers = pa.array([self._number() for _ in range(rows)], self.chance.choice([pa.int32(), pa.int64()]))
        names = pa.array([self.chance.choice([None, "", "ann", "h\u00e9\0"]) for _ in range(rows)], pa.string())
        if self.chance.random() < 0.3:
            names = names.dictionary_encode()
        stamps = pa.array([self._moment() for _ in range(rows)], pa.timestamp(self.chance.choice(["us", "ms"]), "UTC"))
        columns = {"id": numbers, "name": names, "ts": stamps, "more": pa.nulls(rows, pa.float64())}
        return pa.table({name: columns[name] for name in self.chance.sample(list(columns), 4)})

    def name(self, suffix: str) -> str:
        """The name of a file, as somebody might give one."""
        self._made += 1
        return f"{self.chance.choice(_NAMES)}{self._made}{suffix}"

    def cut(self, rows: int, files: int) -> Iterator[int]:
        """So many numbers with that sum; some are 0."""
        places = sorted(self.chance.randint(0, rows) for _ in range(files - 1))
        for begin, end in zip([0, *places], [*places, rows], strict=True):
            yield end - begin

    def pieces(self, sent: bytes) -> Iterator[bytes]:
        """The same bytes in pieces."""
        at = 0
        while at < len(sent):
            size = self.chance.choice([1, 7, 100, 5000])
            yield sent[at : at + size]
            at += size

    def _number(self) -> int:
        self._made += 1
        return self._made

    def _moment(self) -> datetime:
        """Mostly in order, at times far behind or ahead."""
        seconds = self._made + self.chance.choice([0, 0, 0, 5, 60, -30, -3600])
        return BEGIN + timedelta(seconds=seconds)

    def _time(self) -> bytes:
        moment = self._moment()
        forms = (moment.isoformat(), moment.replace(tzinfo=None).isoformat(" "), f"{moment:%Y-%m-%dT%H:%M:%S.000Z}")
        return self.chance.choice(forms).encode()

    def _spoilt(self, line: bytes) -> bytes:
        """The line itself, as a rule."""
        draw = self.chance.random()
        at = self.chance.randint(0, len(line))
        if draw < 0.75:
            return line
        if draw < 0.87:
            return line[:at] + self.chance.choice(_NASTY) + line[at:]
        if draw < 0.93:
            return line[:at]  # torn, or empty
        if draw < 0.97:
            return line + line
        return self.chance.choice(_NASTY) * self.chance.randint(1, 5)


def lines_in(text: bytes, header: bool) -> Counter[bytes]:
    """The lines of a file that must be rows or rejected, counted without the reader that is tried."""
    lines = re.split(rb"\r\n|\r|\n", text.removeprefix(_BOM))
    return Counter(line for line in lines[1 if header else 0 :] if line)


def write_text(
    author: Author, folder: Path, line: Callable[[], bytes], rows: int, files: int, headed: bool
) -> Counter[bytes]:
    """Files of lines in a new folder; returns what stands in them."""
    folder.mkdir()
    found: Counter[bytes] = Counter()
    for count in author.cut(rows, files):
        text = author.text_file([line() for _ in range(count)], HEADER if headed else None)
        (folder / author.name(".csv")).write_bytes(text)
        found += lines_in(text, headed)
    return found


def write_parquet(author: Author, folder: Path, rows: int, files: int) -> int:
    """The same of Parquet."""
    folder.mkdir()
    for count in author.cut(rows, files):
        pq.write_table(author.table(count), folder / author.name(".parquet"), row_group_size=max(1, count // 2))
    return sum(pq.read_metadata(file).num_rows for file in folder.iterdir())

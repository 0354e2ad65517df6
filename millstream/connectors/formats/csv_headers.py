"""Headers of CSV files: checks, and the fields of lines in the order of the stream's columns."""

from __future__ import annotations

import csv
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.formats.csv_records import fields_of
from millstream.connectors.places.bad_files import BadFile

MOST_COLUMNS = 10_000
"""How many columns a header may name: Spark plans each of them."""


def names_of(header: str, delimiter: str) -> list[str]:
    """The names that a header holds.

    >>> names_of('id,"a,b"', ",")
    ['id', 'a,b']
    """
    try:
        names = next(csv.reader([header], delimiter=delimiter), [])
    except csv.Error as problem:
        raise BadFile(f"the first line is no header: {problem}") from None
    if len(names) > MOST_COLUMNS:
        raise BadFile(
            f"the header names {len(names):,} columns, and at most {MOST_COLUMNS:,} are read; "
            f"the option delimiter is {delimiter!r}"
        )
    return names


def shorten_names(names: Sequence[str]) -> str:
    """The names, or the first of very many."""
    return ", ".join(names) if len(names) <= 100 else f"{', '.join(names[:100])} and {len(names) - 100:,} more"


class Order:
    """How the fields of a file come into the order of columns; other fields are left out."""

    def __init__(self, header: str, columns: Sequence[str], delimiter: str) -> None:
        names = names_of(header, delimiter)
        lower = [name.lower() for name in names]
        for column in columns:
            if column.lower() not in lower:
                raise BadFile(
                    f"the header does not have the column {column}, which is declared; it has {shorten_names(names)}"
                )
            if lower.count(column.lower()) > 1:
                raise BadFile(f"the header has the column {column}, which is declared, more than once")
        self._places = [lower.index(column.lower()) for column in columns]
        self._width = len(names)
        self._delimiter = delimiter

    @property
    def is_that_of_the_file(self) -> bool:
        """Whether lines can stay as they are."""
        return self._places == list(range(self._width))

    def put(self, lines: pa.BinaryArray) -> pa.BinaryArray:
        """The lines in order, NULL for those that do not have the fields of their header. Quotes stay where they are.

        >>> order = Order("b,more,a", ["a", "b"], ",")
        >>> order.put(pa.array([b'1,2,3', b'"x,y",,""', b'1,2', b'1,"open,3', b',,'], pa.binary())).to_pylist()
        [b'3,1', b'"","x,y"', None, None, b',']
        """
        sign = self._delimiter.encode()
        fields = pc.split_pattern(lines, pattern=sign)
        quoted = pc.match_substring(lines, '"')
        plain = pc.and_(pc.equal(pc.list_value_length(fields), self._width), pc.invert(quoted))
        found = fields.filter(plain)
        flat, starts = found.flatten(), np.arange(len(found)) * self._width
        columns = [flat.take(pa.array(starts + place)) for place in self._places]
        joined = pc.binary_join_element_wise(*columns, pa.scalar(sign))
        others = pa.array([self._put_quoted(line) for line in lines.filter(quoted).to_pylist()], pa.binary())
        return pc.replace_with_mask(
            pc.replace_with_mask(pa.nulls(len(lines), pa.binary()), plain, joined), quoted, others
        )

    def _put_quoted(self, line: bytes) -> bytes | None:
        fields = fields_of(line.decode("latin-1"), self._delimiter.encode().decode("latin-1"))
        if fields is None or len(fields) != self._width:
            return None
        return self._delimiter.encode().join(fields[place].encode("latin-1") for place in self._places)

"""Files that we open ourselves: cut into lines as Hadoop does, fields in order, and damage found before any row."""

from __future__ import annotations

import bz2
import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.connectors.formats import parquet_files, text_blocks
from millstream.connectors.formats.csv_headers import Order
from millstream.connectors.formats.csv_records import fields_of
from millstream.connectors.formats.text_blocks import BOM, blocks_of, lines_of
from millstream.connectors.places import bad_files
from millstream.connectors.places.bad_files import BadFile

LONGEST = 5


@given(st.lists(st.sampled_from([b"a", b"bc", b"\r", b"\n", b"\r\n", b"d\0", b"longer than that"])), st.data())
def test_lines_are_the_same_however_blocks_are_cut(pieces: list[bytes], data: st.DataObject) -> None:
    text = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    ends = zip([0, *cuts], [*cuts, len(text)], strict=True)
    blocks = [text[begin:end] for begin, end in ends if end > begin]
    expected = re.split(rb"\r\n|\r|\n", text)
    if not expected[-1]:
        expected.pop()
    found = [line for lines in lines_of(iter(blocks), LONGEST) for line in lines]
    # Of a line that is too long, its beginning is enough, and that it is too long.
    assert [line[: LONGEST + 1] for line in found] == [line[: LONGEST + 1] for line in expected]


def test_a_byte_order_mark_is_no_part_of_a_line() -> None:
    assert list(lines_of(iter([BOM + b"a\n", BOM]), 100)) == [[b"a"], [BOM]]


FIELD = st.sampled_from(["", "a", '""', '"a,b"', '"x""y"', ' "s"', '5" pipe', '"q"rest', "é", '"open', "\t"])


@given(st.lists(st.lists(FIELD, min_size=1, max_size=5), max_size=5), st.permutations(["a", "b", "more"]))
def test_fields_come_in_order_with_their_quotes(lines: list[list[str]], header: list[str]) -> None:
    texts = [",".join(line) for line in lines]
    found = Order(",".join(header), ["a", "b"], ",").put(pa.array([t.encode() for t in texts], pa.binary()))
    for text, ordered in zip(texts, found.to_pylist(), strict=True):
        fields = fields_of(text, ",")
        if fields is None or len(fields) != 3:
            assert ordered is None
            continue
        assert ordered.decode() == ",".join(fields[header.index(name)] for name in ("a", "b"))


def zstd(text: bytes) -> bytes:
    return bytes(pa.compress(text, codec="zstd", asbytes=True))


PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstd, "": bytes}


def damaged_parquet(file: Path) -> None:
    pq.write_table(pa.table({"x": range(5000), "y": [f"{n}" for n in range(5000)]}), file, row_group_size=1000)
    content = bytearray(file.read_bytes())
    at = pq.read_metadata(file).row_group(4).column(1).data_page_offset
    content[at : at + 50] = b"\xff" * 50
    file.write_bytes(content)


@pytest.mark.parametrize("at_once", [1 << 30, 100])
def test_damage_is_found_before_the_first_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    for module in (parquet_files, text_blocks):
        monkeypatch.setattr(module, "AT_ONCE", at_once)
    declared = pa.schema([("x", pa.int64()), ("y", pa.string())])
    damaged_parquet(tmp_path / "a")
    with pytest.raises(BadFile, match="it is damaged"):
        parquet_files.read_whole(f"file:{tmp_path}/a", declared, declared.remove(1))
    pq.write_table(pa.table({"x": [1, 2], "y": ["a", "b"]}), tmp_path / "b")
    rows = list(parquet_files.read_whole(f"file:{tmp_path}/b", declared, declared.remove(0)))
    assert pa.Table.from_batches(rows).to_pydict() == {"y": ["a", "b"]}
    text = b"".join(b"%d,\n" % number**3 for number in range(5000))
    for ending, pack in PACKERS.items():
        place = f"{tmp_path}/c{ending}"
        Path(place).write_bytes(pack(text))
        assert b"".join(blocks_of(place, whole=True)) == text
        if ending:
            Path(place).write_bytes(pack(text)[:-20])
            with pytest.raises(BadFile, match="it is damaged: Truncated compressed stream"):
                next(blocks_of(place, whole=True))


def test_what_is_not_about_the_file_is_no_bad_file(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="it is gone"):
        next(blocks_of(f"{tmp_path}/none", whole=True))
    for problem in (
        OSError(5, "Input/output error"),
        pa.ArrowMemoryError("no room"),
        OSError(24, "Too many open files"),
    ):
        with pytest.raises(type(problem)) as raised, bad_files.finding_damage():
            raise problem
        assert raised.value is problem

"""The page of a match: whole, readable by a browser, and of the results."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from millstream_bench.soccer.findings import findings
from millstream_bench.soccer.page import HeatMap, Match, Runner, Shot, page
from millstream_bench.soccer.pictures import CLASSES, heat_map

BEGUN = datetime(1970, 1, 1, 3, tzinfo=UTC)
VOID = {"meta", "br", "img", "hr", "link", "input"}


class Nesting(HTMLParser):
    """Fails unless every tag is closed in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(text: str) -> str:
    nesting = Nesting()
    nesting.feed(text)
    assert nesting.open == []
    return " ".join(nesting.text)


def test_a_page_is_whole_and_shows_text_as_text() -> None:
    match = Match(
        "A <match>",
        "two & a half minutes",
        {"A": [(0.5, 40.0), (1.0, 60.0)], "B": [(0.5, 60.0), (1.0, 40.0)]},
        [("A1", 12.5, 3)],
        [Runner("A1", [1, 2, 3, 4, 5, 6], 123.4)],
        [HeatMap("A1", 8, 13, [0, 103], [1, 5])],
        [Shot(3.0, "B2", [(10.0, 0.0), (20.0, 30.0)])],
        [("speed", "1,000 events/s")],
    )
    text = read(page(match))
    for shown in ("A <match>", "two & a half minutes", "12.5 s", "123 m", "3.0 s", "1,000 events/s", "team A"):
        assert shown in text


def test_a_page_without_results_is_whole_too() -> None:
    read(page(Match("none", "", {}, [], [], [], [], [])))


def test_darker_cells_were_trodden_more_often() -> None:
    drawn = heat_map([0, 1, 2], [7, 1, 7], 8, 13)
    fills = [part.split('"')[0] for part in drawn.split('fill="')[1:4]]
    assert fills[0] == fills[2] != fills[1]


def test_findings_are_the_newest_results(tmp_path: Path) -> None:
    def write(name: str, rows: list[dict[str, object]]) -> None:
        (tmp_path / name).mkdir()
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / name / "a.parquet")

    def ran(second: int, metres: float) -> dict[str, object]:
        values = {f"{c}_{what}": metres for c in CLASSES for what in ("time", "distance")}
        return {"ts": BEGUN + timedelta(seconds=second), "player_id": "A1", **values}

    write("running_totals", [{**row, "minutes": 0} for row in (ran(2, 2.0), ran(1, 1.0))])
    shares = {"ts": BEGUN + timedelta(seconds=61), "team_id": "A", "time": 1.0, "time_percent": 100.0}
    write("team_possession", [{**shares, "minutes": 1}, {**shares, "minutes": 5}])
    write("possession", [{"ts": BEGUN, "player_id": "A1", "minutes": 0, "time": 1.5, "hits": 2}])
    heat = {"ts": BEGUN, "player_id": "A1", "total": 3, "cells": [5], "counts": [3]}
    write(
        "heat",
        [{**heat, "grid_x": x, "grid_y": y, "minutes": m} for x, y, m in ((64, 100, 0), (8, 13, 0), (64, 100, 1))],
    )
    picos = int((BEGUN + timedelta(seconds=4)).timestamp()) * 10**12
    write("shots", [{"ts": picos + n * 10**11, "player_id": "B2", "x": 1000 * n, "y": 0} for n in (1, 0)])
    found = findings(tmp_path, "", [])
    assert found.runners == [Runner("A1", [2.0] * 6, 12.0)]
    assert found.possession == {"A": [(1.0, 100.0)], "B": []}
    assert found.holders == [("A1", 1.5, 2)]
    assert found.heat == [HeatMap("A1", 64, 100, [5], [3])]
    assert found.shots == [Shot(3.0, "B2", [(0.0, 0.0), (1.0, 0.0)])]

"""`millstream generate match` as a user meets it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from millstream.cli.main import main
from millstream_bench.commands import generate


def test_a_match_and_its_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "match"
    assert main(["generate", "match", str(folder), "--minutes", "0.1", "--seed", "4", "--files", "2"]) == 0
    events = pq.read_table(folder / "events").num_rows
    told = capsys.readouterr().out
    assert re.fullmatch(rf".*match: {events:,} events in 2 files, \d+ hits, \d+ shots; .* s, [\d,]+ events/s\n", told)


def test_the_summary_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "match"
    options = ["--minutes", "0.05", "--format", "csv", "--disorder", "20", "--json"]
    assert main(["generate", "match", str(folder), *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["format"] == "csv"
    assert told["disorder"] == 20
    assert told["events"] == sum(len(f.read_text().splitlines()) for f in (folder / "events").iterdir())
    assert told["events_per_second"] > 0


def test_progress_goes_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "_LINE_SECONDS", 0.0)
    assert main(["generate", "match", str(tmp_path / "match"), "--minutes", "0.05"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"100%  [\d,]+ events, [\d,]+ events/s", lines[-1])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--minutes", "0"], "a match of 0 minutes cannot be played"),
        (["--minutes", "-2"], "a match of -2 minutes cannot be played"),
        (["--disorder", "70000"], "a disorder of 70000 ms cannot be made"),
    ],
)
def test_what_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], text: str) -> None:
    assert main(["generate", "match", str(tmp_path / "match"), *options]) == 1
    assert text in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["generate", "match", str(tmp_path)]) == 1
    assert "exists and is not empty" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("option", [["--files", "0"], ["--seed", "-1"], ["--minutes", "ten"], ["--format", "xml"]])
def test_arguments_that_are_none(tmp_path: Path, option: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["generate", "match", str(tmp_path / "match"), *option])

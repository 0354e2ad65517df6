"""The demo, over a few seconds of play."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millstream.cli.main import main


@pytest.mark.spark
def test_the_demo_makes_a_page(spark: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "match"
    assert main(["demo", "--minutes", "0.2", "--folder", str(folder), "--no-open", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["events"] > 100_000
    text = (folder / "match.html").read_text(encoding="utf-8")
    assert Path(said["page"]) == folder / "match.html"
    assert text.count('<svg class="field"') == 1 + 16  # the shots, and a map for each player
    for player in ("A1", "A8", "B1", "B8"):
        assert f"<figcaption>{player}</figcaption>" in text


def test_a_match_without_minutes_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--minutes", "0"]) == 1
    assert "a match of 0 minutes cannot be played" in capsys.readouterr().err

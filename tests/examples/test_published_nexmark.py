"""The scripts of examples/nexmark over rows that another project published, with the results it published."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from collections import Counter
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from millstream.mill import Mill

ROWS = Path(__file__).resolve().parents[3] / "shared" / "external" / "nexmark"
SCRIPTS = Path(__file__).resolve().parents[2] / "examples" / "nexmark"
NAMES = ["q0", "q1", "q2", "q4", "q5", "q7", "q9", "q14", "q15", "q18", "q22"]

Value = str | Decimal | datetime

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not ROWS.is_dir(), reason="published rows, ../shared/external/nexmark, are not there"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The scripts, with the published rows in the place of their data."""
    (tmp_path / "data").mkdir()
    for name in ("auction", "bid"):
        shutil.copy(ROWS / f"{name}.csv", tmp_path / "data")
    for script in SCRIPTS.glob("*.esl"):
        shutil.copy(script, tmp_path)
    return tmp_path


def test_the_published_results(mill: Mill, folder: Path) -> None:
    for name in NAMES:
        text = (folder / f"{name}.esl").read_text()
        mill.execute(re.sub(r"^CREATE STREAM ", "CREATE STREAM IF NOT EXISTS ", text, flags=re.MULTILINE))
        mill.wait()
    wrong = {name: difference(folder, name) for name in NAMES}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_the_command(folder: Path) -> None:
    command = [sys.executable, "-m", "millstream.cli.main", "run", "q5.esl", "--once", "--quiet"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    assert difference(folder, "q5") == []


def difference(folder: Path, name: str) -> list[object]:
    """Rows that are missing or too many, and headers that differ."""
    header, wanted = rows(ROWS / "expected" / f"{name}.csv")
    found_header, found = rows(folder / "out" / f"{name}.csv")
    assert wanted
    headers = [] if header == found_header else [(found_header, header)]
    return [*headers, *((wanted - found) + (found - wanted)).elements()]


def rows(path: Path) -> tuple[list[str], Counter[tuple[Value, ...]]]:
    with path.open(newline="") as file:
        header, *lines = csv.reader(file)
    return header, Counter(tuple(value(text) for text in line) for line in lines)


def value(text: str) -> Value:
    """Numbers and times in one spelling."""
    if re.fullmatch(r"-?\d+(\.\d+)?", text):
        return Decimal(text)
    if re.match(r"\d{4}-\d\d-\d\d[ T]", text):
        return datetime.fromisoformat(text)
    return text

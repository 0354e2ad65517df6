"""The auction house: its generator, and the demo in short form."""

import csv
import importlib.util
import json
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "auctions"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("auctions_generate", FOLDER / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


def test_the_same_seed_gives_the_same_rows(generate: ModuleType) -> None:
    def made(seed: int) -> list[object]:
        house = generate.AuctionHouse(seed)
        return [house.tick() for _ in range(3)]

    assert made(1) == made(1)
    assert made(1) != made(2)


def test_good_rows_parse_and_broken_ones_do_not(generate: ModuleType) -> None:
    house = generate.AuctionHouse(3)
    ticks = [house.tick() for _ in range(40)]
    rows = [row for tick in ticks for row in (*tick.opened, *tick.closed, *tick.bids)]
    broken = [row for row in rows if not row.good]
    assert 0.005 < len(broken) / len(rows) < 0.02
    assert all(parses_csv(row.line) == row.good for tick in ticks for row in tick.opened)
    assert all(parses_json(row.line) == row.good for tick in ticks for row in (*tick.closed, *tick.bids))


def test_time_stamps_stay_within_the_slack(generate: ModuleType) -> None:
    house = generate.AuctionHouse(4)
    newest = generate.FIRST_TIME
    disordered = 0
    for _ in range(20):
        for row in house.tick().opened:
            if row.good:
                time = datetime.fromisoformat(row.line.split(",")[3])
                assert time > newest - timedelta(seconds=5)
                disordered += time < newest
                newest = max(newest, time)
    assert disordered


def test_files_for_trying_things_out(generate: ModuleType, tmp_path: Path) -> None:
    assert generate.main([str(tmp_path), "--ticks", "2"]) == 0
    names = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert names == ["bids/00000.json", "bids/00001.json", "closed.jsonl", "open/00000.csv", "open/00001.csv"]
    assert (tmp_path / "open/00001.csv").read_text().startswith("item_id,seller_id,price,start_time\n")


@pytest.mark.spark
def test_the_demo_loses_nothing(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, FOLDER / "demo.py", "--seconds", "3", "--base", tmp_path],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "LOST" not in ran.stdout
    assert "checked: all" in ran.stdout
    assert "is not a" in ran.stdout
    assert ran.stderr == ""
    alerts = [json.loads(line) for f in (tmp_path / "out/alerts").glob("*.json") for line in f.open()]
    assert alerts
    assert all(alert["price"] > 1000 for alert in alerts)


def parses_csv(line: str) -> bool:
    try:
        item, _, price, time = next(csv.reader([line]))
        int(item), float(price), datetime.fromisoformat(time)
    except ValueError:
        return False
    return True


def parses_json(line: str) -> bool:
    try:
        row = json.loads(line)
    except ValueError:
        return False
    return isinstance(row["item_id"], int) and isinstance(row["price"], float)

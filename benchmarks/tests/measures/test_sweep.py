"""The sweep: its points, its file that is carried on with, and the pictures drawn from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from millstream.cli.main import main
from millstream.errors import SettingError
from millstream_bench.harness.figures import load_figures
from millstream_bench.harness.report import Result
from millstream_bench.measures import sweep as sweeps
from millstream_bench.measures.sweep import Plan, sweep

PLAN = Plan(rows=1000, against=("spark", "flink"), repeat=1, warm_up=0, seed=1, latency_seconds=3)
LATENCY = {"median_s": 0.4, "p95_s": 0.6, "rate": 10_000, "windows": 3, "seconds": [0.3, 0.4, 0.6]}


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Instead of measuring, what would have been measured."""
    asked: list[tuple[Any, ...]] = []

    def compare(_: object, names: list[str], size: Any, options: dict[str, int], **__: object) -> list[Result]:
        asked.append((tuple(names), size.keys, options))
        return [Result("sliding", name, size.rows, (0.1 * (i + 1),), 5, 2**20) for i, name in enumerate(names)]

    def state(shape: Any) -> Any:
        asked.append((shape,))
        size = shape.range * 1000
        values = {"range": shape.range, "tuples_per_key_and_s": shape.tuples, "blob_bytes": size}
        return type("Kept", (), {"to_json": lambda _: values})()

    def latency(shape: Any, _: object) -> Any:
        asked.append((shape,))
        return type("Latencies", (), {"to_json": lambda _: LATENCY})()

    monkeypatch.setattr(sweeps, "compare", compare)
    monkeypatch.setattr(sweeps.state, "measure", state)
    monkeypatch.setattr(sweeps.latency, "measure", latency)
    return asked


def test_all_points_are_measured_once(compared: list[tuple[Any, ...]], tmp_path: Path) -> None:
    file = tmp_path / "deep" / "figures.json"
    figures = sweep(PLAN, file, tmp_path, lambda _: None)
    assert load_figures(file) == json.loads(json.dumps(figures))
    assert len(compared) == len(figures["points"]) == 3 + 4 + 3 + 6 + 1
    # Spark is left out where it would copy each row 600 times; one rate for all ranges.
    assert [names for names, _, options in compared[:3]] == [
        ("millstream", "spark", "flink"),
        ("millstream", "spark", "flink"),
        ("millstream", "flink"),
    ]
    assert len({options["rate"] for *_, options in compared[:3]}) == 1
    sweep(PLAN, file, tmp_path, lambda _: None)
    assert len(compared) == len(figures["points"])


def test_a_sweep_goes_on_where_it_was_cut_off(compared: list[tuple[Any, ...]], tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    figures = sweep(PLAN, file, tmp_path, lambda _: None)
    del figures["points"]["latency"], figures["points"]["keys/10"]
    file.write_text(json.dumps(figures))
    compared.clear()
    sweep(PLAN, file, tmp_path, lambda _: None)
    assert len(compared) == 2


def test_figures_of_another_sweep_are_not_mixed_in(compared: list[tuple[Any, ...]], tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    sweep(PLAN, file, tmp_path, lambda _: None)
    with pytest.raises(SettingError, match="figures of another run"):
        sweep(Plan(2000, (), 1, 0, 1, 0), file, tmp_path, lambda _: None)


def test_files_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "plots", str(tmp_path / "none.json"), str(tmp_path)]) == 1
    assert "No such file" in capsys.readouterr().err
    (tmp_path / "text").write_text("not JSON")
    (tmp_path / "list").write_text("[]")
    for name, message in (("text", "it is not JSON"), ("list", "bench sweep writes one")):
        assert main(["bench", "plots", str(tmp_path / name), str(tmp_path)]) == 1
        assert message in capsys.readouterr().err


def test_pictures_are_drawn_from_the_file_alone(
    compared: list[tuple[Any, ...]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
    sweep(PLAN, tmp_path / "figures.json", tmp_path, lambda _: None)
    assert main(["bench", "plots", str(tmp_path / "figures.json"), str(tmp_path / "png")]) == 0
    drawn = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [file.stem for file in drawn] == ["range", "keys", "disorder", "memory", "latency"]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in drawn)


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from millstream_bench.measures import plots

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(plots.importlib, "import_module", missing)
    with pytest.raises(SettingError, match="pip install matplotlib"):
        plots.draw({"points": {}, "plan": {"rows": 1}, "machine": {"cores": 1}}, tmp_path)

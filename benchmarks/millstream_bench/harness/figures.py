"""Figures in a file of JSON that is written after each point, so that a run can go on where it was cut off."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from millstream.errors import SettingError
from millstream_bench.data.aside import write_aside

Figures = dict[str, Any]
"""The plan of the run, the machine, and for the name of each point what was found."""


def open_figures(file: Path | None, plan: Mapping[str, Any]) -> Figures:
    """What the file holds of this plan; without a file, figures that have no point yet."""
    if file is None or not file.exists():
        memory = round(psutil.virtual_memory().total / 2**30)
        return {"plan": dict(plan), "machine": {"cores": os.cpu_count(), "memory_gb": memory}, "points": {}}
    figures = load_figures(file)
    if figures["plan"] != plan:
        raise SettingError(
            f"{file} holds figures of another run: {json.dumps(figures['plan'])}\nhelp: name another file, or remove it"
        )
    return figures


def load_figures(file: Path) -> Figures:
    """The figures of a file."""
    try:
        figures: Figures = json.loads(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise SettingError(f"no figures in {file}: {problem.strerror}") from None
    except ValueError:
        raise SettingError(f"{file} is not a file of figures: it is not JSON") from None
    if not isinstance(figures, dict) or "points" not in figures:
        raise SettingError(f"{file} is not a file of figures\nhelp: bench sweep writes one")
    return figures


def save_figures(file: Path, figures: Figures) -> None:
    """Replace the file."""
    with write_aside(file) as staged:
        staged.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")

"""The four queries as one script: streams and tables over the folder of a match, and sinks in another folder.

`python -m millstream_bench.soccer.queries MATCH OUT > match.esl` writes it, and `millstream run --once match.esl` runs
it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from millstream_bench.soccer.rules import Rules

NAMES = ("q1", "q2", "q3", "q4")
"""All queries: running analysis, ball possession, heat map, shots on goal."""

_SHOTS = """
  INSERT INTO shots SELECT ts, player_id, x, y, z, v, vx, vy, vz, a, ax, ay, az
    WHERE shot = 1 AND account = owner AND w.minutes = 0"""
"""What q4 takes from the query that it shares with q2."""

_FED = re.compile(r"\bINSERT INTO ([a-z]\w*)")


def script(
    folder: str | Path, out: str | Path | None, rules: Rules | None = None, queries: Sequence[str] = NAMES
) -> str:
    """A script that runs some of the queries over a match; without `out` their results go nowhere, for measuring."""
    chosen = rules or Rules()
    if unknown := [name for name in queries if name not in NAMES]:
        raise ValueError(f"there is no query '{unknown[0]}': there are {', '.join(NAMES)}")
    parts = [_part("match", chosen, _sources(folder))]
    if "q1" in queries:
        parts.append(_part("q1", chosen))
    if "q3" in queries:
        parts.append(_part("q3", chosen))
    if "q2" in queries or "q4" in queries:
        parts.append(_part("ball", chosen))
    if "q2" in queries:
        parts.append(_part("q2", chosen, {"shots": _SHOTS if "q4" in queries else ""}))
    elif "q4" in queries:
        parts.append(_part("q4", chosen))
    return "\n".join([parts[0], _sinks(parts, out), *parts[1:]])


def _sinks(parts: Iterable[str], out: str | Path | None) -> str:
    names = [name for part in parts for name in _FED.findall(part)]
    if out is None:
        return "".join(f"CREATE SINK {name} TO 'noop:';\n" for name in names)
    return "".join(f"CREATE SINK {name} TO {_address(out, name)} OPTIONS (mode = 'overwrite');\n" for name in names)


def _sources(folder: str | Path) -> dict[str, str]:
    names = {"events": "events", "sensors": "sensors.parquet", "play": "play.parquet"}
    return {name: _address(folder, path) for name, path in names.items()}


def _part(name: str, rules: Rules, others: Mapping[str, str] | None = None) -> str:
    text = (files(__package__) / "queries" / f"{name}.esl").read_text(encoding="utf-8")
    # A player has one tuple a second: a frame of so many seconds before it is a window that is a second longer.
    frames = {f"window_{n}_seconds": str(60 * getattr(rules, f"window_{n}_minutes") - 1) for n in (1, 2, 3)}
    return Template(text).substitute(rules.literals(), **frames, **(others or {}))


def _address(folder: str | Path, name: str) -> str:
    return "'" + f"parquet:{folder}/{name}".replace("\\", "\\\\").replace("'", "''") + "'"


def main() -> None:
    """Write the script to the standard output."""
    parser = argparse.ArgumentParser(description="The script of the four queries over a match.")
    parser.add_argument("match", help="the folder that 'millstream generate match' has made")
    parser.add_argument("out", help="the folder for the results")
    parser.add_argument("--queries", default=",".join(NAMES), help="some of them, as q1,q3")
    given = parser.parse_args()
    sys.stdout.write(script(given.match, given.out, queries=given.queries.split(",")))


if __name__ == "__main__":
    main()

"""What a workload is: its data, and the same job written for each engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from millstream.errors import SettingError, suggest


@dataclass(frozen=True)
class Size:
    """How much data a run takes."""

    rows: int
    keys: int
    seed: int


@dataclass(frozen=True)
class Setting:
    """What every engine is given alike, so that the comparison is one of engines only."""

    data: str
    cores: int
    memory: str
    options: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The setting in JSON's terms, for the way to a worker."""
        return asdict(self)


class Job(Protocol):
    """A workload in the hands of one engine, in a process of its own."""

    def run(self) -> float:
        """Do the whole job once, from nothing, and say how many seconds it took."""
        ...

    def write_results(self, folder: Path) -> None:
        """Do the same once more, untimed, and keep the result rows as Parquet in a new folder."""
        ...

    def notes(self) -> dict[str, Any]:
        """What a reader of the figures must know besides them, if anything; asked for after the timed runs."""
        ...

    def close(self) -> None:
        """Let go of the engine."""
        ...


@dataclass(frozen=True)
class Choice:
    """A number that can be chosen for a workload: its name on the command line, default, meaning and least value."""

    name: str
    default: int
    what: str
    least: int = 0


@dataclass(frozen=True)
class Workload:
    """A benchmark; `engines` says how each engine is given the job, and the first is the one that is judged."""

    name: str
    what: str
    prepare: Callable[[Path, Size, Mapping[str, int]], Path]
    engines: Mapping[str, Callable[[Setting], Job]]
    choices: tuple[Choice, ...] = ()
    same_rows: bool = True
    """Whether all engines must give the same number of result rows."""
    complete: Callable[[Size, dict[str, int]], dict[str, int]] = lambda _, options: options
    """Fills in the choices that depend on the size."""
    digest: Callable[[Path, Setting], dict[str, float]] = lambda _, __: {}
    """Sums over the kept result rows of an engine that every engine must agree on."""
    generated: frozenset[str] = frozenset()
    """Engines that make up their own rows: their results are nobody else's."""
    set_up: Mapping[str, Callable[[Callable[[str], None]], object]] = field(default_factory=dict)
    """What must be there before an engine can start."""

    def chosen(self, against: str) -> list[str]:
        """The engines to run: the first, and those of a comma list."""
        own = next(iter(self.engines))
        names = [own]
        for name in filter(None, (part.strip().lower() for part in against.split(","))):
            if name not in self.engines:
                others = [e for e in self.engines if e != own]
                raise SettingError(f"bench {self.name} has no engine '{name}': {suggest(name, others)}")
            if name not in names:
                names.append(name)
        return names

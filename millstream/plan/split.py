"""The step that gives several sinks their share of what is read once."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.catalog.definitions import Output
from millstream.language.parse.written import written
from millstream.plan.algebra import Node


@dataclass(frozen=True)
class Split(Node):
    """For each sink the rows that its condition lets pass, with its columns (EPIC's splitstream)."""

    below: Node
    outputs: tuple[Output, ...]

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Split {', '.join(_share(o) for o in self.outputs)}"


def _share(output: Output) -> str:
    return f"{output.sink} if {written(output.where)}" if output.where is not None else output.sink

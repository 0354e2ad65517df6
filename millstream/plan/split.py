"""The node of a query with several sinks, which is read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.catalog.definitions import Output
from millstream.catalog.schema import Column, Schema, SqlType, sql_type, type_name
from millstream.expressions.words import words
from millstream.plan.algebra import Node
from millstream.plan.fingerprint.lineage import Lineage

SHARE = "__share"
"""Before the number of an output: the column with its row, NULL where the row is not for it."""


@dataclass(frozen=True)
class Split(Node):
    """For each sink the rows that its condition lets pass, with its columns (splitstream in [Badiozamy 2013])."""

    below: Node
    outputs: tuple[Output, ...]

    @property
    def schema(self) -> Schema:
        """A column for each sink, with the row that is for it."""
        return Schema(Column(f"{SHARE}{n}", _row(output)) for n, output in enumerate(self.outputs))

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """The rows that are shared out."""
        return inputs[0]

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Split {', '.join(_share(o) for o in self.outputs)}"


def _row(output: Output) -> SqlType:
    fields = ", ".join(f"`{item.name}`: {type_name(item.type)}" for item in output.items)
    return sql_type(f"STRUCT<{fields}>")


def _share(output: Output) -> str:
    return f"{output.sink} if {words(output.where)}" if output.where is not None else output.sink

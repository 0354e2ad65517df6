"""A stage as its tasks know it: operator, inputs, answers and promises."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from millstream.expressions.arrow.steps import ArrowExpression
from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.spark.stage.feeds import Feed
from millstream.spark.stage.unnest import Nested


@dataclass(frozen=True)
class Outlet:
    """What a stage is: its operator, its inputs, what it promises.

    `answers` are the columns that it gives to Spark, MARK among them; `lists` are those that it unnests for that, and
    `holds` says which rows it gives.
    `promises` are the columns of its answers that the operator's promise is about, and by how much they lag behind it.
    `names` are the columns of its answers that are called otherwise in the state. `start` tells the starts of a query
    apart: between two it may have been edited, so that it answers otherwise from the same state.
    """

    query: str
    number: int
    answers: pa.Schema
    make: Callable[[Blobs], Operator]
    feeds: tuple[Feed, ...]
    promises: tuple[tuple[str, int], ...] = ()
    lists: tuple[Nested, ...] = ()
    holds: ArrowExpression | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    start: str = field(default_factory=lambda: secrets.token_hex(8))

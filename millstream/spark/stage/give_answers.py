"""The end of a stage: names the answers of its operator, makes lists rows, and filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from millstream.expressions.arrow.steps import ArrowExpression
from millstream.spark.stage.filter_answers import filter_answers
from millstream.spark.stage.unnest import Nested, unnest


def give_answers(
    answers: pa.Table, names: Mapping[str, str], lists: Sequence[Nested], holds: ArrowExpression | None
) -> pa.Table:
    """The rows that a stage gives.

    >>> give_answers(pa.table({"__c0": [1, 2]}), {"__c0": "x"}, (), None).column_names
    ['x']
    """
    answers = answers.rename_columns([names.get(name, name) for name in answers.column_names]) if names else answers
    rows = unnest(answers, lists)
    return rows if holds is None else filter_answers(rows, holds)

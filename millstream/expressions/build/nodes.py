"""Which function makes the value of each kind of node."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from millstream.expressions.build import arithmetic, calls, choices, comparisons, leaves
from millstream.expressions.build.builder import Build

BUILDS: Mapping[type[exp.Expr], Build] = {
    exp.Column: leaves.column,
    exp.Literal: leaves.literal,
    exp.Boolean: leaves.boolean,
    exp.Null: leaves.null,
    exp.Interval: leaves.length,
    exp.Paren: leaves.inner,
    exp.Alias: leaves.inner,
    **dict.fromkeys(comparisons.SIGNS, comparisons.comparison),
    exp.NullSafeEQ: comparisons.same,
    exp.NullSafeNEQ: comparisons.same,
    exp.Between: comparisons.between,
    exp.In: comparisons.in_,
    exp.Is: comparisons.is_,
    exp.Not: comparisons.not_,
    exp.And: comparisons.connected,
    exp.Or: comparisons.connected,
    exp.Like: comparisons.like,
    exp.ILike: comparisons.like,
    exp.Escape: comparisons.escape,
    exp.Case: choices.case,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod), arithmetic.arithmetic),
    **dict.fromkeys((exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor), arithmetic.bits),
    exp.BitwiseNot: arithmetic.bit_not,
    exp.IntDiv: arithmetic.whole_division,
    exp.Neg: arithmetic.negative,
    exp.Cast: calls.cast_node,
    exp.TryCast: calls.cast_node,
    exp.DPipe: calls.pipe,
    exp.Func: calls.function,
}
"""Nodes that are not listed are calls of functions, or are refused as such."""

"""Makes steps of the parts of an expression, each by a function for its kind of node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pyarrow as pa
from sqlglot import exp

from millstream.catalog.arrow import carried, to_arrow
from millstream.catalog.schema import SqlType, type_name
from millstream.expressions.arrow.casts import convert
from millstream.expressions.arrow.steps import Constant, Step, applied
from millstream.expressions.build import constants
from millstream.expressions.build.types import converts, is_time, type_of
from millstream.language.types import coercion as c


class Unsupported(ValueError):
    """A part that cannot be evaluated."""

    def __init__(self, node: exp.Expression) -> None:
        super().__init__(f"cannot evaluate {node.sql(dialect='spark')}")
        self.node = node


class Builder:
    """Makes steps of the parts of an expression that knows its types; raises Unsupported for some."""

    def __init__(self, builds: Mapping[type[exp.Expr], Build], originals: Mapping[int, exp.Expr]) -> None:
        self._builds = builds
        self._originals = originals

    def step(self, node: exp.Expr) -> Step:
        """A part in its own type."""
        build = self._builds.get(type(node))
        if build is None or c.is_unknown(type_of(node)):
            raise self.refusal(node)
        return build(self, node)

    def step_as(self, node: exp.Expr, type_: SqlType) -> Step:
        """A part in a type that it can be turned into without being asked to."""
        from_, target = type_of(node), to_arrow(type_)
        if target is None:
            raise self.refusal(node)
        if c.is_null(from_):
            return constants.null(target)
        if c.is_string(from_) and is_time(type_):
            return self.written_time(node.unnest(), type_)
        step = self.step(node)
        if type_name(from_) == type_name(type_):
            return step
        if not converts(from_, type_):
            raise self.refusal(node)
        return applied(partial(convert, type_=target), step)

    def truth(self, node: exp.Expr) -> Step:
        """A part that must be true or false."""
        return self.step_as(node, c.BOOLEAN)

    def text(self, node: exp.Expr) -> Step:
        """A part that must be a text, or can be read as one."""
        return self.step_as(node, c.STRING)

    def written_number(self, node: exp.Expr, text: str) -> Constant:
        """A number that is written out."""
        return self._supported(constants.number(text, type_of(node)), node)

    def written_time(self, node: exp.Expr, type_: SqlType) -> Constant:
        """A date or a timestamp that is written out."""
        return self._supported(constants.time(node, type_), node)

    def carried_type(self, node: exp.Expr) -> pa.DataType:
        """The Arrow type of a part, which may be an array."""
        type_ = carried(type_of(node))
        if type_ is None:
            raise self.refusal(node)
        return type_

    def refusal(self, node: exp.Expr) -> Unsupported:
        """What to raise for a part: it names the one in the expression that was given, which knows its place."""
        found = self._originals.get(id(node), node)
        assert isinstance(found, exp.Expression)  # noqa: S101
        return Unsupported(found)

    def _supported(self, constant: Constant | None, node: exp.Expr) -> Constant:
        if constant is None:
            raise self.refusal(node)
        return constant


Build = Callable[[Builder, exp.Expr], Step]
"""Makes the step of one kind of node."""

"""What a registration asks of a tuple: the terms of a condition, by how the registrations are found."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.expressions.arrow.steps import ArrowExpression


@dataclass(frozen=True)
class Bound:
    """One end of a range, as the registrations give it; `inclusive`, the end itself is in it."""

    parameter: ArrowExpression
    inclusive: bool


@dataclass(frozen=True)
class RangeTerm:
    """A value of a tuple that must lie `above` a bound, `below` one, or between two. Both are of one type."""

    value: ArrowExpression
    above: Bound | None = None
    below: Bound | None = None


@dataclass(frozen=True)
class PrefixTerm:
    """A text of a tuple that must begin with a text; or match a pattern of LIKE, which is a text and a `suffix`."""

    text: ArrowExpression
    parameter: ArrowExpression
    suffix: str | None = None


@dataclass(frozen=True)
class MatchTerms:
    """The terms of a condition, all of which must hold; NULL never does.

    `equal` are expressions of tuples and of registrations that are equal, in one type for each pair. `rest` is checked
    on the pairs that the others find, `alone` on the registrations by themselves.
    """

    equal: tuple[tuple[ArrowExpression, ArrowExpression], ...] = ()
    range: RangeTerm | None = None
    prefix: PrefixTerm | None = None
    rest: ArrowExpression | None = None
    alone: ArrowExpression | None = None

    @property
    def is_indexed(self) -> bool:
        """Whether registrations are looked up; else each tuple is tried on all of them."""
        return bool(self.equal) or self.range is not None or self.prefix is not None

"""Parts of a join's condition that read one input alone: Spark computes them before the join.

Whether a pair matches is known where pairs are made, and not every function is at hand there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from millstream.catalog.arrow import to_arrow
from millstream.catalog.schema import SqlType
from millstream.catalog.select import Item
from millstream.errors import NotYet
from millstream.expressions.build.types import sql_type_for
from millstream.expressions.compile.arrow import NoArrowForm, arrow_value, without_arrow_form
from millstream.expressions.reading import children, columns_of, draws_lots, over_children, span_of
from millstream.expressions.tree import Column, Lambda, Value
from millstream.expressions.words import message_text, words
from millstream.language.parse.statements import Span
from millstream.windows.join_kind import JoinKind


@dataclass
class OneSided:
    """Takes such parts out of conditions; `items` are the columns to compute of each input, by their number."""

    inputs: Sequence[Mapping[str, SqlType]]
    items: tuple[list[Item], list[Item]] = field(default_factory=lambda: ([], []))

    def taken_from(self, condition: Value) -> Value:
        """The condition with columns in the place of what is to be computed before."""
        return condition if without_arrow_form(condition) is None else self._take(condition)

    def _take(self, value: Value) -> Value:
        found = self._computed(value)
        if found is not None or isinstance(value, Lambda):
            return found or value
        return over_children(value, [self._take(part) for part in children(value)])

    def _computed(self, value: Value) -> Value | None:
        """The column of a part that is computed before; None if it cannot be, or need not."""
        type_ = sql_type_for(value.type)
        side = next((i for i, columns in enumerate(self.inputs) if columns_of(value) <= columns.keys()), None)
        if to_arrow(type_) is None or side is None or _has_arrow_form(value) or draws_lots(value):
            return None
        known = next((i for i in self.items[side] if i.expression == value), None)
        if known is None:
            known = Item(_name(value, side), value, type_)
            self.items[side].append(known)
        return Column(known.name, value.type, words(value))


def _has_arrow_form(value: Value) -> bool:
    try:
        arrow_value(value)
    except NoArrowForm:
        return False
    return True


def _name(value: Value, side: int) -> str:
    """A name that tells what it is: no name of a user has a colon, and PySpark takes a dot for a field."""
    return f"{side}:{words(value)}".replace(".", "\N{MIDDLE DOT}").replace("`", "'")


def check_pairs(conditions: Sequence[Value], kind: JoinKind, text: str, span: Span | None) -> None:
    """Refuse what is left of conditions if it cannot be computed where pairs are made."""
    for condition in conditions:
        if (part := without_arrow_form(condition)) is not None:
            message = (
                f"{message_text(part)} in the condition of a {kind.value} join needs both inputs at once, or is "
                "another value each time: this version can run that in inner joins only"
            )
            hint = "write it so that each function reads the columns of one input only"
            raise NotYet(message, text, span_of(part) or span_of(condition) or span, clause="ON", hint=hint)

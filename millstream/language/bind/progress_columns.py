"""Which columns of a SELECT make progress, so that windows can move along them."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.catalog.select import Item
from millstream.expressions.tree import Call, Column, Value
from millstream.language.bind.scope import Scope


def progress_columns(items: Sequence[Item], scope: Scope) -> tuple[str, ...]:
    """The items that are time stamps of the input as they are.

    The greatest of both time stamps of a join is one too: no pair that is still to come is older than both streams
    (the joint punctuation of [Li 2008, section 7.2]).
    """
    times = [time.lower() for time in scope.times]
    plain = [i.name for i in items if isinstance(i.expression, Column) and i.expression.name.lower() in times]
    joint = [i.name for i in items if _is_joint(i.expression, times)]
    return (*joint, *plain)


def _is_joint(expression: Value, times: Sequence[str]) -> bool:
    if not isinstance(expression, Call) or expression.function != "greatest" or len(times) != 2:
        return False
    names = [term.name.lower() for term in expression.arguments if isinstance(term, Column)]
    return len(names) == len(expression.arguments) and set(names) == set(times)

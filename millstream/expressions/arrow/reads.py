"""What is known of an expression that has become steps: the columns it reads, the terms that AND joins, other names."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow.compute as pc

from millstream.expressions.arrow.steps import Applied, ArrowExpression, ColumnOf, Constant, Step, WhereTrue, Whole


def reads(predicate: ArrowExpression) -> frozenset[str] | None:
    """The columns that an expression reads; None if that cannot be told.

    >>> sorted(reads(Whole(Applied(pc.less, (ColumnOf("x", None), ColumnOf("y", None))))))
    ['x', 'y']
    """
    return _read(predicate.step) if isinstance(predicate, Whole) else None


def terms(predicate: ArrowExpression) -> tuple[ArrowExpression, ...]:
    """Conditions that all hold where this one does, and only there.

    >>> [list(reads(term)) for term in terms(Whole(Applied(pc.and_kleene, (ColumnOf("x", None), ColumnOf("y", None)))))]
    [['x'], ['y']]
    """
    match predicate:
        case Whole(step=Applied(function=pc.and_kleene, arguments=arguments)):
            return tuple(term for argument in arguments for term in terms(Whole(argument)))
    return (predicate,)


def renamed(predicate: ArrowExpression, names: Mapping[str, str]) -> ArrowExpression | None:
    """The same of columns with other names; None if some has none.

    >>> reads(renamed(Whole(ColumnOf("x", None)), {"x": "z"}))
    frozenset({'z'})
    """
    read = reads(predicate)
    if not isinstance(predicate, Whole) or read is None or not read <= names.keys():
        return None
    return Whole(_renamed(predicate.step, names))


def source_of(predicate: ArrowExpression) -> ColumnOf | None:
    """The column that an expression is, if it is no more than that."""
    return predicate.step if isinstance(predicate, Whole) and isinstance(predicate.step, ColumnOf) else None


def _read(step: Step) -> frozenset[str]:
    match step:
        case Constant():
            return frozenset()
        case ColumnOf(name=name):
            return frozenset([name])
        case Applied(arguments=arguments):
            return frozenset[str]().union(*(_read(a) for a in arguments))
        case WhereTrue(condition=condition, step=then):
            return _read(condition) | _read(then)


def _renamed(step: Step, names: Mapping[str, str]) -> Step:
    match step:
        case Constant():
            return step
        case ColumnOf(name=name, type=type_):
            return ColumnOf(names[name], type_)
        case Applied():
            return _renamed_call(step, names)
        case WhereTrue(condition=condition, step=then):
            return WhereTrue(_renamed(condition, names), _renamed_call(then, names))


def _renamed_call(step: Applied, names: Mapping[str, str]) -> Applied:
    return Applied(step.function, tuple(_renamed(a, names) for a in step.arguments))

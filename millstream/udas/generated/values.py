"""Values of bodies to Python expressions.

A condition can be asked for in three ways: as a value of three kinds, as whether it is true, or as whether it is
false. Where only the truth matters, NULL needs no name, and the text is what a person would write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Protocol

from millstream.expressions.functions.registry import FUNCTIONS
from millstream.expressions.tree import Call, Case, Literal, Value
from millstream.udas.body import ColumnOf, Exists, GroupValue, IsIn, Oldest, Parameter, ScalarQuery, TableQuery
from millstream.udas.generated.code import (
    ATOM,
    CHOICE,
    COMPARISON,
    CONJUNCTION,
    DISJUNCTION,
    NEGATION,
    PRODUCT,
    SUM,
    Code,
    joined,
    listed,
)

_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
_PLAIN = {"add_float64": ("+", SUM), "sub_float64": ("-", SUM), "mul_float64": ("*", PRODUCT)}
_MIXED = frozenset([*_PLAIN, "div_float64", "float32", "add_float32", "sub_float32", "mul_float32"])
_SMALL = frozenset(["int8", "int16", "int32"])
_NEVER_NULL = frozenset(["is_null", "is_not_null", "same", "is_nan"])
_LOGIC = frozenset(["and", "or", "not", "is_null", "is_not_null", *_SIGNS])


@dataclass(frozen=True)
class Place:
    """Where a value is computed: what the parameters, the rows and the group that it speaks of are called.

    `oldest` are the names of the columns of the oldest tuple, where they are at hand.
    """

    parameters: tuple[str, ...]
    columns: Mapping[int, Callable[[int], str]]
    group: Callable[[int], str] | None = None
    oldest: tuple[str, ...] = ()

    def with_source(self, number: int, column: Callable[[int], str]) -> Place:
        """The same place where one more row is at hand."""
        return replace(self, columns={**self.columns, number: column})


class QueryWriter(Protocol):
    """Writes SELECTs that are parts of values."""

    def scalar(self, query: TableQuery, place: Place) -> Code:
        """The value of the only row."""

    def members(self, query: TableQuery, place: Place) -> Code:
        """The list of the values of the first column."""

    def exists(self, query: TableQuery, place: Place) -> Code:
        """Whether there is a row."""


class Values:
    """Writes values; `queries` writes the SELECTs in them."""

    def __init__(self, queries: QueryWriter) -> None:
        self._queries = queries

    # -- as a value ----------------------------------------------------------------------------------------

    def value(self, value: Value, place: Place) -> Code:
        """The value, None for NULL."""
        match value:
            case Literal():
                return _literal(value)
            case Parameter():
                return Code(place.parameters[value.index])
            case ColumnOf():
                return Code(place.columns[value.source](value.index))
            case GroupValue():
                assert place.group is not None  # noqa: S101  (answers stand only beside groups)
                return Code(place.group(value.index))
            case Oldest():
                known = place.oldest
                return Code(known[value.index] if known else f"self.inwindow.oldest_value({value.index})")
            case ScalarQuery():
                return self._queries.scalar(value.query, place)
            case Exists():
                return self._queries.exists(value.query, place)
            case IsIn():
                members = self._queries.members(value.query, place)
                return Code(f"among({self.text(value.value, place)}, {members.text})")
            case Case():
                return self._case(value, place)
            case Call():
                return self._call(value, place)
        raise TypeError(type(value))  # columns of the catalog do not stand in bodies

    def text(self, value: Value, place: Place) -> str:
        """The value as an argument or an item."""
        return self.value(value, place).text

    def _case(self, case: Case, place: Place) -> Code:
        text = self.value(case.default, place).within(CHOICE)
        for condition, result in reversed(case.branches):
            chosen = self.value(result, place).within(DISJUNCTION)
            text = f"{chosen} if {self.truth(condition, place).within(DISJUNCTION)} else {text}"
        return Code(text, CHOICE)

    def _call(self, call: Call, place: Place) -> Code:
        name = call.function
        if name in _LOGIC:
            return self._logic(call, place)
        call = replace(call, arguments=_unconverted(call))
        parts = [self.value(a, place) for a in call.arguments]
        if name in _PLAIN and all(map(_is_plain, call.arguments)):
            sign, level = _PLAIN[name]
            text = f"{parts[0].text} {sign} {parts[1].text}"
            checks = self._missing(call, place)
            return Code(f"None if {checks} else {text}", CHOICE) if checks else Code(text, level)
        # The binder lets no other names through: no text of a user becomes code.
        return Code(f"{FUNCTIONS[name].word}({', '.join(p.text for p in parts)})")

    def _logic(self, call: Call, place: Place) -> Code:
        if not can_be_null(call):
            return self.truth(call, place)
        if call.function in _SIGNS:
            return Code(f"{call.function}({', '.join(self.text(a, place) for a in call.arguments)})")
        return Code(f"{FUNCTIONS[call.function].word}({', '.join(self.text(a, place) for a in call.arguments)})")

    def _missing(self, call: Call, place: Place) -> str:
        return " or ".join(f"{self.text(a, place)} is None" for a in call.arguments if can_be_null(a))

    # -- as a condition ------------------------------------------------------------------------------------

    def truth(self, value: Value, place: Place) -> Code:
        """Whether a condition is true, rather than false or NULL."""
        match value:
            case Call(function="and"):
                return joined([self.truth(a, place) for a in operands(value)], "and", CONJUNCTION)
            case Call(function="or"):
                return joined([self.truth(a, place) for a in operands(value)], "or", DISJUNCTION)
            case Call(function="one_of", arguments=(found, *members)) if _is_plain(found) and _are_names(members):
                texts = listed(self.text(m, place) for m in members)
                return Code(f"{self.value(found, place).within(SUM)} in {texts}", COMPARISON)
            case Call(function="not"):
                return self.falsity(value.arguments[0], place)
            case Call(function="is_null" | "is_not_null" as name, arguments=(argument,)):
                if not can_be_null(argument):
                    return Code(str(name == "is_not_null"))
                word = "is None" if name == "is_null" else "is not None"
                return Code(f"{self.value(argument, place).within(SUM)} {word}", COMPARISON)
            case Call() if value.function in _SIGNS:
                return self._compared(value, place)
            case IsIn(query=query) if query.grouping is None and query.limit is None and not query.offset:
                # As EXISTS, an index can find the value.
                equal = Call("eq", (query.items[0], value.value), value.type)
                where = equal if query.where is None else Call("and", (query.where, equal), value.type)
                return self._queries.exists(replace(query, where=where), place)
        return self.value(value, place)

    def falsity(self, value: Value, place: Place) -> Code:
        """Whether a condition is false, rather than true or NULL."""
        match value:
            case Call(function="and"):
                return joined([self.falsity(a, place) for a in operands(value)], "or", DISJUNCTION)
            case Call(function="or"):
                return joined([self.falsity(a, place) for a in operands(value)], "and", CONJUNCTION)
            case Call(function="not"):
                return self.truth(value.arguments[0], place)
            case Call(function="is_null"):
                return self.truth(replace(value, function="is_not_null"), place)
            case Call(function="is_not_null"):
                return self.truth(replace(value, function="is_null"), place)
            case Call() if value.function in _SIGNS:
                return self._compared(replace(value, function=_OPPOSITE[value.function]), place)
        code = self.value(value, place)
        if not can_be_null(value):
            return Code(f"not {code.within(NEGATION)}", NEGATION)
        return Code(f"{code.within(SUM)} is False", COMPARISON)

    def _compared(self, call: Call, place: Place) -> Code:
        left, right = call.arguments
        if left.type.is_float or right.type.is_float or not (_is_plain(left) and _is_plain(right)):
            return Code(f"{call.function}({self.text(left, place)}, {self.text(right, place)})")
        bare = Code(
            f"{self.value(left, place).within(SUM)} {_SIGNS[call.function]} {self.value(right, place).within(SUM)}",
            COMPARISON,
        )
        nullable = [a for a in call.arguments if can_be_null(a)]
        if call.function == "eq":
            nullable = nullable[1:]  # None equals no value
        checks = [Code(f"{self.text(a, place)} is not None", COMPARISON) for a in nullable]
        return joined([*checks, bare], "and", CONJUNCTION)


def operands(call: Call) -> list[Value]:
    """The parts of a chain of AND, or of OR."""
    found: list[Value] = []
    waiting: list[Value] = [call]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Call) and value.function == call.function:
            waiting += reversed(value.arguments)
        else:
            found.append(value)
    return found


def _are_names(members: Sequence[Value]) -> bool:
    """Whether all are literals that `in` of Python compares as SQL does."""
    return all(isinstance(m, Literal) and m.value is not None and not m.type.is_float for m in members)


def can_be_null(value: Value) -> bool:
    """Whether a value may be NULL, as far as its text tells."""
    match value:
        case Literal():
            return value.value is None
        case Exists():
            return False
        case Call(function=name) if name in _NEVER_NULL:
            return False
        case Call(function=name, arguments=arguments) if name in _LOGIC:
            return any(map(can_be_null, arguments))
    return True


def _is_plain(value: Value) -> bool:
    """Whether its text may stand twice: a name, or a literal."""
    return isinstance(value, Literal | Parameter | ColumnOf | GroupValue)


def _unconverted(call: Call) -> tuple[Value, ...]:
    """The arguments, without conversions that Python makes by itself: small whole numbers are fractions as they are."""
    if call.function not in _MIXED:
        return call.arguments
    bare = tuple(
        a.arguments[0] if isinstance(a, Call) and a.function == "to_float" and a.arguments[0].type.name in _SMALL else a
        for a in call.arguments
    )
    enough = call.function in {"div_float64", "float32"} or any(a.type.is_float for a in bare)
    return bare if enough else call.arguments


def _literal(literal: Literal) -> Code:
    value = literal.value
    if isinstance(value, Decimal):
        return Code(f"Decimal({str(value)!r})")
    negative = isinstance(value, int | float) and not isinstance(value, bool) and value < 0
    return Code(repr(value), PRODUCT if negative else ATOM)

"""Values of bodies to the lines of a kernel: each value is a name or a literal, and whether it is NULL another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from millstream.expressions.functions.registry import FUNCTIONS
from millstream.expressions.tree import BOOL, Call, Case, Literal, Type, Value
from millstream.udas.body import ColumnOf, Exists, IsIn, Oldest, Parameter, ScalarQuery, TableQuery, walk

_INDENT = "    "
_SIMPLE = frozenset(
    ["bool", "int8", "int16", "int32", "int64", "float32", "float64", "date", "timestamp", "interval", "months", "null"]
)


class Pair(NamedTuple):
    """A value and whether it is NULL, as text."""

    value: str
    null: str

    @property
    def truth(self) -> str:
        """Whether a condition is true, rather than false or NULL."""
        return self.value if self.null == "False" else f"{self.value} and not {self.null}"


NOTHING = Pair("0", "True")


def is_simple(type_: Type) -> bool:
    """Whether numba has numbers for a type."""
    return type_.name in _SIMPLE


def single_row(query: TableQuery) -> bool:
    """Whether a query has one row, or none if its condition is not true, given that its tables have one."""
    plain = query.grouping is None and not query.order and query.limit is None and not query.offset
    return plain and all(isinstance(s.relation, str) and not s.left for s in query.sources)


def conditions(query: TableQuery) -> list[Value]:
    """What must be true for the row of such a query."""
    found = [s.on for s in query.sources if s.on is not None]
    return found if query.where is None else [*found, query.where]


def can_write(node: object) -> bool:
    """Whether all values and queries in a statement are such as kernels compute."""
    return all(map(_known, walk(node)))


def _known(node: object) -> bool:
    match node:
        case Call(function=name):
            return FUNCTIONS[name].kernel is not None or name in {"is_null", "is_not_null", "one_of"}
        case TableQuery():
            return single_row(node)
        case Literal() | Parameter() | ColumnOf() | Case():
            return is_simple(node.type)
        case IsIn():
            return False
    return True


class Lines:
    """Lines of Python at some depth, with names for what is in between."""

    def __init__(self, depth: int) -> None:
        self.text: list[str] = []
        self._depth = depth
        self._count = 0

    def add(self, line: str) -> None:
        """One more line."""
        self.text.append(_INDENT * self._depth + line)

    def let(self, text: str) -> Pair:
        """The value and the NULL that an expression gives, by names."""
        self._count += 1
        pair = Pair(f"_{self._count}", f"_{self._count}_null")  # no name of a user begins so
        self.add(f"{pair.value}, {pair.null} = {text}")
        return pair

    def begin(self, head: str) -> None:
        """The head of a block."""
        self.add(head)
        self._depth += 1

    def end(self) -> None:
        """The end of a block."""
        self._depth -= 1


class KernelValues:
    """Writes values. Columns of sources are the variables of their tables."""

    def __init__(self, lines: Lines, parameters: Sequence[Pair], variables: Mapping[str, Sequence[Pair]]) -> None:
        self._lines = lines
        self._parameters = parameters
        self._variables = variables
        self._tables: dict[int, str] = {}

    def meets(self, query: TableQuery) -> None:
        """Learn which tables the sources of a query are."""
        self._tables.update((s.number, s.relation) for s in query.sources if isinstance(s.relation, str))

    def stands_for(self, number: int, table: str) -> None:
        """Learn which table a source is."""
        self._tables[number] = table

    def value(self, value: Value) -> Pair:
        """The value, computed in lines before if it must be."""
        match value:
            case Literal():
                return NOTHING if value.value is None else Pair(_literal(value), "False")
            case Parameter() | Oldest():  # EXPIRE is about the oldest tuple: its values are the parameters there
                return self._parameters[value.index]
            case ColumnOf():
                return self._variables[self._tables[value.source]][value.index]
            case Case():
                return self._case(value)
            case ScalarQuery(query=query):
                self.meets(query)
                wanted = self.value(query.items[0])
                return self._chosen(self.all_true(conditions(query)), wanted, nothing(value.type))
            case Exists(query=query):
                self.meets(query)
                return Pair(self._lines.let(f"{self.all_true(conditions(query))}, False").value, "False")
            case Call():
                return self._call(value)
        raise TypeError(type(value))  # `can_write` lets no other through

    def all_true(self, terms: list[Value]) -> str:
        """Whether all of some conditions are true."""
        return " and ".join(f"({self.value(term).truth})" for term in terms) or "True"

    def _case(self, case: Case) -> Pair:
        found = self._typed(case.default, case.type)
        for condition, result in reversed(case.branches):
            found = self._chosen(self.value(condition).truth, self._typed(result, case.type), found)
        return found

    def _typed(self, value: Value, type_: Type) -> Pair:
        pair = self.value(value)
        return nothing(type_) if pair == NOTHING else pair

    def _chosen(self, condition: str, one: Pair, other: Pair) -> Pair:
        return self._lines.let(f"({one.value}, {one.null}) if {condition} else ({other.value}, {other.null})")

    def _call(self, call: Call) -> Pair:
        name = call.function
        if name in {"is_null", "is_not_null"}:
            null = self.value(call.arguments[0]).null
            return Pair(self._lines.let(f"{null if name == 'is_null' else f'not {null}'}, False").value, "False")
        if name == "one_of":
            value, *members = call.arguments
            equal = [Call("eq", (value, member), BOOL) for member in members]
            return self._folded("either", [self.value(e) for e in equal])
        if FUNCTIONS[name].many:  # two at a time
            return self._folded(name, [self._typed(argument, call.type) for argument in call.arguments])
        return self._applied(
            FUNCTIONS[name].word, [self._typed(argument, argument.type) for argument in call.arguments]
        )

    def _folded(self, name: str, pairs: list[Pair]) -> Pair:
        found, *others = pairs
        for pair in others:
            found = self._applied(name, [found, pair])
        return found

    def _applied(self, name: str, pairs: list[Pair]) -> Pair:
        return self._lines.let(f"{name}({', '.join(f'{p.value}, {p.null}' for p in pairs)})")


def nothing(type_: Type) -> Pair:
    """NULL of a type."""
    return Pair("0.0" if type_.is_float else "False" if type_ == BOOL else "0", "True")


def _literal(literal: Literal) -> str:
    value = literal.value
    return f"({float(value)!r})" if literal.type.is_float else f"({value!r})"  # type: ignore[arg-type]

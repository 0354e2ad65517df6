"""Makes values of the parts of an expression, each by a function for its kind of node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from millstream.catalog.schema import SqlType, type_name
from millstream.expressions.build.casts import cast, fits
from millstream.expressions.build.types import tree_type
from millstream.expressions.functions.registry import FUNCTIONS
from millstream.expressions.tree import BOOL, INT32, STRING, Call, OnlySpark, Type, Value
from millstream.language.parse.spans import span_of
from millstream.language.parse.written import written
from millstream.language.types import coercion as c


class Unsupported(ValueError):
    """A part of an expression that is not computed here; `mistake` says that it never can be."""

    def __init__(self, node: exp.Expr, message: str, hint: str = "", mistake: bool = False) -> None:
        super().__init__(message)
        self.node = node
        self.hint = hint
        self.mistake = mistake


class Builder:
    """Makes values of the parts of an expression that knows its types.

    `columns` says what a column is, `types` which type at run time one of the language is, and `place` where all this
    is computed. Numbers that fit a greater type become ones of it by a call only if it `widens` them. Of a part that is
    not among the functions, `otherwise` makes something; else Unsupported is raised.
    """

    def __init__(
        self,
        builds: Mapping[type[exp.Expr], Build],
        columns: Callable[[exp.Column], Value],
        types: Callable[[SqlType], Type | None] = tree_type,
        *,
        place: str = "outside of Spark",
        widens: bool = True,
        otherwise: Build | None = None,
    ) -> None:
        self._builds = builds
        self.columns = columns
        self.types = types
        self.place = place
        self.widens = widens
        self._otherwise = otherwise
        self._nodes: dict[int, tuple[Value, exp.Expr]] = {}
        self._made: dict[int, Value] = {}

    @property
    def lenient(self) -> bool:
        """Whether there is something for every part."""
        return self._otherwise is not None

    def value(self, node: exp.Expr) -> Value:
        """The value of a part, in its own type."""
        if id(node) not in self._made:
            self._made[id(node)] = self._known(_placed(self._build(node), node), node)
        return self._made[id(node)]

    def _build(self, node: exp.Expr) -> Value:
        build = self._builds.get(type(node), self._builds[exp.Func])
        try:
            return build(self, node)
        except Unsupported:
            if self._otherwise is None:
                raise
        return self._otherwise(self, node)

    def value_as(self, node: exp.Expr, to: Type) -> Value:
        """A part as a value of a type."""
        return self.fitted(self.value(node), to, node)

    def fitted(self, value: Value, to: Type, node: exp.Expr) -> Value:
        """A value as one of a type, by a cast that needs no word from the user."""
        found = cast(value, to, asked=False, widens=self.widens)
        if found is None:
            message = f"{written(node)} cannot become {to}"
            raise Unsupported(node, message, "use a value of that type", mistake=True)
        return self._known(found, node)

    def argument(self, node: exp.Expr, to: Type) -> Value:
        """A part as an argument of a function. Spark would cut a greater number off in silence."""
        value = self.value(node)
        if to.is_float and value.type == BOOL:
            message = f"{written(node)} is BOOLEAN, and this function takes numbers"
            raise Unsupported(node, message, "CAST it", mistake=True)
        if to.is_whole and not fits(value, to):
            given = type_name(node.type) if isinstance(node.type, exp.DataType) else str(value.type)
            hint = f"write CAST({written(node)} AS INT)" if to == INT32 else f"CAST it to {to}"
            message = f"{written(node)} is {given}, and this function takes {to} here"
            raise Unsupported(node, message, hint, mistake=True)
        return self.fitted(value, to, node)

    def truth(self, node: exp.Expr) -> Value:
        """A part that must be true or false."""
        return self.value_as(node, BOOL)

    def text(self, node: exp.Expr) -> Value:
        """A part that must be a text, or can be read as one."""
        return self.value_as(node, STRING)

    def call(
        self, node: exp.Expr, name: str, arguments: Sequence[Value], type_: Type, unwritten: bool = False
    ) -> Value:
        """A call of a function that not every type has."""
        if name not in FUNCTIONS:
            raise self.refusal(node)
        return Call(name, tuple(arguments), type_, unwritten)

    def type(self, node: exp.Expr) -> Type:
        """The type of what a part gives."""
        found = self.types(node.type) if isinstance(node.type, exp.DataType) else None
        if found is not None:
            return found
        if not isinstance(node.type, exp.DataType) or c.is_unknown(node.type):
            hint = "CAST its arguments, so that they have one type"
            raise Unsupported(node, f"the type of {written(node)} cannot be told", hint)
        message = f"{written(node)} is {type_name(node.type)}, which cannot be computed with {self.place} yet"
        raise Unsupported(node, message)

    def refusal(self, node: exp.Expr, message: str = "", hint: str = "") -> Unsupported:
        """What to raise for a part that is not computed."""
        return Unsupported(node, message or f"{written(node)} cannot be computed {self.place}", hint)

    def node_of(self, value: Value) -> exp.Expr | None:
        """The part that a value was made of."""
        found = self._nodes.get(id(value))
        return None if found is None else found[1]

    def _known(self, value: Value, node: exp.Expr) -> Value:
        self._nodes.setdefault(id(value), (value, node))  # with the value itself, so that no other gets its id
        return value


def _placed(value: Value, node: exp.Expr) -> Value:
    """A value that knows its place in the text."""
    if isinstance(value, Call | OnlySpark) and value.span is None and (span := span_of(node)) is not None:
        return replace(value, span=span)
    return value


Build = Callable[[Builder, exp.Expr], Value]
"""Makes the value of one kind of node."""

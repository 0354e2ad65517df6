"""Expressions of bodies: names resolved, subqueries and aggregates taken out, types checked, values made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from millstream.catalog.definitions import PythonAggregate, UserAggregate
from millstream.catalog.schema import SqlType
from millstream.errors import EslSyntaxError, NotYet, Refused, TypeMismatch, UnknownName, suggest
from millstream.expressions.tree import BOOL, NULL, Call, Literal, Value
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.nodes import EslWindow
from millstream.language.parse.spans import span_of
from millstream.language.parse.written import written
from millstream.language.types import coercion as c
from millstream.language.types import functions
from millstream.language.types.checks import check, check_condition
from millstream.udas import body as b
from millstream.udas.bind.scope import Scope, Typed
from millstream.udas.bind.types import run_type
from millstream.udas.bind.values import value_of

BindQuery = Callable[[exp.Query, Scope, str], tuple[b.TableQuery, list[tuple[str, SqlType]]]]
Replace = Callable[[exp.Expression], Typed | None]


@dataclass
class Expressions:
    """Binds expressions; `bind_query` binds the SELECTs in them."""

    bind_query: BindQuery

    def bind(
        self,
        node: exp.Expression,
        scope: Scope,
        clause: str,
        replaced: Replace = lambda _: None,
        condition: bool = False,
    ) -> Typed:
        """The value of an expression and its type; `replaced` gives the meaning of parts that only the caller knows."""
        expression = _Expression(self.bind_query, scope, clause, replaced)
        tree = expression.prepared(node)
        self._raise_first(tree, node, expression, condition)
        found = tree.type if isinstance(tree.type, exp.DataType) else c.NULL
        value = value_of(tree, expression.slots, scope.aggregate.text, clause)
        return value, found

    def condition(self, node: exp.Expression, scope: Scope, clause: str, replaced: Replace = lambda _: None) -> Value:
        """A condition: it must be true or false."""
        value, _ = self.bind(node, scope, clause, replaced, condition=True)
        return Literal(None, BOOL) if value.type.name == "null" else value

    @staticmethod
    def _raise_first(tree: exp.Expr, node: exp.Expr, expression: _Expression, condition: bool) -> None:
        text, clause = expression.scope.aggregate.text, expression.clause
        types = expression.types
        for mistake in check_condition(tree, types, clause) if condition else check(tree, types):
            span = span_of(mistake.node) or span_of(node)
            message, hint = mistake.message, mistake.hint
            for key in types:
                message, hint = message.replace(f"`{key}`", key), hint.replace(f"`{key}`", key)
            raise TypeMismatch(message, text, span, clause=clause, hint=hint or "CAST one of them")


@dataclass
class _Expression:
    """One expression: each part that is no plain expression becomes a column, whose value is kept in `slots`."""

    bind_query: BindQuery
    scope: Scope
    clause: str
    replaced: Replace
    slots: dict[str, Value] = field(default_factory=dict)
    types: dict[str, SqlType] = field(default_factory=dict)

    def prepared(self, node: exp.Expression) -> exp.Expression:
        """The tree with its columns in the place of what they stand for."""
        tree: exp.Expression = node.copy().transform(self._part, copy=False)
        return tree

    def _part(self, node: exp.Expression) -> exp.Expression:
        known = self.replaced(node)
        if known is not None:
            return self._column(node, *known)
        match node:
            case exp.Column():
                if isinstance(node.this, exp.Star):
                    self._syntax(node, "* cannot stand here", "name a column")
                return self._column(node, *self.scope.column(node, self.clause))
            case exp.Dot():
                found = self._dotted(node)
                return node if found is None else self._column(node, *found)
            case exp.Subquery() | exp.Select():
                return self._column(node, *self._scalar(node))
            case exp.Exists():
                query, _ = self.bind_query(node.this, self.scope, self.clause)
                return self._column(node, b.Exists(query), c.BOOLEAN)
            case exp.In() if node.args.get("query") is not None:
                return self._column(node, *self._in(node))
        if name_of_call(node) == "oldest":
            return self._column(node, *self._oldest(node, None))
        self._check(node)
        return node

    def _column(self, node: exp.Expression, value: Value, type_: SqlType) -> exp.Expression:
        key = written(node).lower()
        self.slots[key] = value
        self.types[key] = type_
        column = exp.column(exp.to_identifier(key, quoted=True))
        span = span_of(node)
        if span is not None:
            column.this.meta.update(start=span[0], end=span[1] - 1)
        return column

    def _scalar(self, node: exp.Expression) -> Typed:
        query, columns = self.bind_query(node, self.scope, self.clause)  # type: ignore[arg-type]
        self._one_column(node, columns)
        return b.ScalarQuery(query, query.items[0].type), columns[0][1]

    def _in(self, node: exp.In) -> Typed:
        query, columns = self.bind_query(node.args["query"], self.scope, self.clause)
        self._one_column(node, columns)
        inner = Expressions(self.bind_query)
        value, type_ = inner.bind(node.this, self.scope, self.clause, self.replaced)
        # As in any comparison: `value = column` says what fits, and which side has to be cast.
        marks = {"value": (value, type_), "member": (query.items[0], columns[0][1])}
        test = _Expression(self.bind_query, self.scope, self.clause, lambda n: marks.get(n.name))
        equality = test.prepared(exp.EQ(this=exp.column("value"), expression=exp.column("member")))
        for mistake in check(equality, test.types):
            raise TypeMismatch(mistake.message, self._text, span_of(node), clause=self.clause, hint=_CAST)
        sides = value_of(equality, test.slots, self._text, self.clause)
        if not isinstance(sides, Call):
            return sides, c.BOOLEAN
        items = (sides.arguments[1], *query.items[1:])
        return b.IsIn(sides.arguments[0], b.TableQuery(**{**vars(query), "items": items})), c.BOOLEAN

    def _one_column(self, node: exp.Expression, columns: list[tuple[str, SqlType]]) -> None:
        if len(columns) != 1:
            self._syntax(node, f"a subquery in an expression gives one column, not {len(columns)}", "name one column")

    def _dotted(self, node: exp.Dot) -> Typed | None:
        """`oldest().x`."""
        if name_of_call(node.this) != "oldest":
            return None
        return self._oldest(node, node.expression.name)

    def _oldest(self, node: exp.Expression, name: str | None) -> Typed:
        call = node.this if isinstance(node, exp.Dot) else node
        if call.expressions:
            self._syntax(call.expressions[0], "oldest() takes no arguments", "write oldest()")
        aggregate = self.scope.aggregate
        if not aggregate.window:
            hint = "CREATE WINDOW AGGREGATE has an inwindow, and oldest()"
            raise Refused("oldest() needs a window", self._text, span_of(node), clause=self.clause, hint=hint)
        schema = aggregate.tables[b.INWINDOW]
        if name is None and len(schema) != 1:
            self._syntax(
                node, f"oldest() has {len(schema)} columns", f"write oldest().{schema[0].name}" if schema else ""
            )
        wanted = name or schema[0].name
        for index, column in enumerate(schema):
            if column.name.lower() == wanted.lower():
                return b.Oldest(index, run_type(column.type) or NULL), column.type
        raise UnknownName(
            f"no column '{wanted}' in inwindow",
            self._text,
            span_of(node),
            clause=self.clause,
            hint=suggest(wanted, schema.names),
        )

    # -- what may not stand in an expression ---------------------------------------------------------------

    @property
    def _text(self) -> str:
        return self.scope.aggregate.text

    def _syntax(self, node: exp.Expression, message: str, hint: str) -> None:
        raise EslSyntaxError(message, self._text, span_of(node), clause=self.clause, hint=hint or "leave it out")

    def _check(self, node: exp.Expression) -> None:
        span = span_of(node)
        if isinstance(node, EslWindow | exp.Window):
            self._syntax(node, "a window cannot stand in the body of an aggregate", "bodies read inwindow")
        if isinstance(node, exp.Placeholder | exp.Parameter | exp.SessionParameter | exp.Lambda | exp.Query):
            self._syntax(node, "this cannot stand in the body of an aggregate", "write the value itself")
        if isinstance(node, exp.Any | exp.All):
            hint = "use IN, EXISTS, or max(...) and min(...) in a subquery"
            raise NotYet("ANY and ALL cannot run in a body yet", self._text, span, clause=self.clause, hint=hint)
        name = name_of_call(node)
        if name is not None:
            self._check_function(node, name)

    def _check_function(self, node: exp.Expression, name: str) -> None:
        span, aggregate = span_of(node), self.scope.aggregate
        own = name == aggregate.name.lower()
        if own and aggregate.window and user_aggregate(name, self.scope) is None:
            message = f"there is no base aggregate {name} that the window aggregate could call"
            hint = f"create it first: CREATE AGGREGATE {name} ..."
            raise UnknownName(message, self._text, span, clause=self.clause, hint=hint)
        if own or user_aggregate(name, self.scope) is not None or functions.kind(name) is functions.Kind.AGGREGATE:
            raise Refused(
                f"the aggregate {name} has nothing to read here",
                self._text,
                span,
                clause=self.clause,
                hint=f"aggregates read tables, as in (SELECT {name}(x) FROM t)",  # noqa: S608  (a hint)
            )
        if name in functions.FORBIDDEN:
            message = f"{name} is not allowed: {functions.FORBIDDEN[name]}"
            raise Refused(message, self._text, span, clause=self.clause, hint="leave it out")
        if functions.kind(name) is None:
            hint = suggest(name, functions.names())
            hint = hint if hint.startswith("did you") else "functions are Spark SQL's; aggregates must be created first"
            raise UnknownName(f"no function '{name}'", self._text, span, clause=self.clause, hint=hint)


_CAST = "CAST one of them, so that both have one type"


def user_aggregate(name: str, scope: Scope) -> UserAggregate | PythonAggregate | None:
    """The base aggregate of a name that users have defined."""
    return scope.aggregate.catalog.aggregate(name)

"""SELECTs inside bodies: FROM with joins, WHERE, groups with built-in and user-defined aggregates, order and limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

from sqlglot import exp

from millstream.catalog.schema import Column, Schema, SqlType
from millstream.errors import EslError, EslSyntaxError, NotYet, UnknownName
from millstream.expressions.tree import Value
from millstream.language.bind.calls.calls import written_call
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.spans import span_of
from millstream.udas import body as b
from millstream.udas.bind.aggregations import bind_aggregation
from millstream.udas.bind.expressions import Expressions, user_aggregate
from millstream.udas.bind.scope import QueryInput, Scope, Typed

Columns = list[tuple[str, SqlType]]
_READ = {"expressions", "from_", "where", "distinct", "order", "limit", "offset", "joins", "group", "having"}


def bind_query(query: exp.Query, scope: Scope, clause: str) -> tuple[b.TableQuery, Columns]:
    """The bound form of a SELECT, and the names and types of its columns."""
    text = scope.aggregate.text
    while isinstance(query, exp.Subquery) and isinstance(query.this, exp.Query):
        query = query.this
    if not isinstance(query, exp.Select):
        word = type(query).__name__.upper()
        _refuse(NotYet, f"{word} cannot run in a body yet", query, text, clause, "use one SELECT per statement")
    for key, value in query.args.items():
        if value and key not in _READ:
            word = key.strip("_").upper()
            first = value[0] if isinstance(value, list) else value
            _refuse(
                NotYet, f"{word} cannot run in a body yet", first, text, clause, "docs/language.md lists what works"
            )
    return _Select(query, scope, text).bound()


def _refuse(kind: type[EslError], message: str, node: Any, text: str, clause: str, hint: str) -> NoReturn:
    span = span_of(node) if isinstance(node, exp.Expr) else None
    if span is None and isinstance(node, exp.Expr):
        span = span_of(node.parent) if node.parent is not None else None
    raise kind(message, text, span or (0, 1), clause=clause, hint=hint)


@dataclass
class _Select:
    """One SELECT on its way."""

    query: exp.Select
    outer: Scope
    text: str
    sources: list[b.Source] = field(default_factory=list)
    keys: list[tuple[exp.Expression, Value, SqlType]] = field(default_factory=list)
    aggregations: list[b.Aggregation] = field(default_factory=list)
    aliases: dict[str, Typed] = field(default_factory=dict)

    def bound(self) -> tuple[b.TableQuery, Columns]:
        self.values = Expressions(bind_query)
        self.scope = self.outer.inside(())
        self._from()
        where = self.query.args.get("where")
        condition = self.values.condition(where.this, self.scope, "WHERE") if where else None
        self.grouped = bool(self.query.args.get("group")) or any(self._calls(n) for n in self._results())
        if self.grouped:
            self._keys()
        items, columns = self._items()
        having = self.query.args.get("having")
        if having and not self.grouped:
            _refuse(EslSyntaxError, "HAVING needs groups", having, self.text, "HAVING", "use WHERE")
        kept = self.values.condition(having.this, self.scope, "HAVING", self._replaced) if having else None
        order = self._order(items)
        grouping = (
            b.Grouping(tuple(v for _, v, _ in self.keys), tuple(self.aggregations), kept) if self.grouped else None
        )
        return (
            b.TableQuery(
                sources=tuple(self.sources),
                items=tuple(items),
                where=condition,
                grouping=grouping,
                distinct=self.query.args.get("distinct") is not None,
                order=order,
                limit=self._number("limit"),
                offset=self._number("offset") or 0,
            ),
            columns,
        )

    # -- FROM ----------------------------------------------------------------------------------------------

    def _from(self) -> None:
        from_ = self.query.args.get("from_")
        if from_ is None:
            return
        self._input(from_.this)
        for join in [*(from_.this.args.get("joins") or ()), *(self.query.args.get("joins") or ())]:
            self._join(join)

    def _join(self, join: exp.Join) -> None:
        side, kind = str(join.side or "").upper(), str(join.kind or "").upper()
        hint = "JOIN ... ON and LEFT JOIN ... ON work"
        if side not in {"", "LEFT"} or kind not in {"", "INNER", "CROSS", "OUTER"} or join.args.get("using"):
            _refuse(NotYet, "this JOIN cannot run in a body yet", join.this, self.text, "JOIN", hint)
        if join.args.get("method"):
            _refuse(NotYet, "this JOIN cannot run in a body yet", join.this, self.text, "JOIN", hint)
        self._input(join.this, join.args.get("on"), left=side == "LEFT")

    def _input(self, node: exp.Expression, on: exp.Expression | None = None, left: bool = False) -> None:
        number = self.scope.aggregate.next_number()
        relation: str | b.CatalogTable | b.TableQuery
        if isinstance(node, exp.Subquery):
            relation, columns = bind_query(node.this, self.outer, "FROM")
            schema, name = Schema(Column(n, t) for n, t in columns), node.alias or "subquery"
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            relation, schema = self.scope.aggregate.relation(node, "FROM")
            name = node.alias or node.name
        else:
            _refuse(
                NotYet, "a body reads tables and SELECTs only", node, self.text, "FROM", "FROM t, or FROM (SELECT ...)"
            )
        if any(one.name.lower() == name.lower() for one in self.scope.own):
            hint = "give one of them another name with AS"
            _refuse(EslSyntaxError, f"two inputs are named '{name}'", node, self.text, "FROM", hint)
        self.scope = self.outer.inside((*self.scope.own, QueryInput(name, number, schema)))
        condition = self.values.condition(on, self.scope, "ON") if on is not None else None
        self.sources.append(b.Source(number, name, relation, len(schema), left, condition))

    # -- the columns of the result -------------------------------------------------------------------------

    def _results(self) -> list[exp.Expression]:
        having, order = self.query.args.get("having"), self.query.args.get("order")
        return [*self.query.expressions, *([having.this] if having else []), *(order.expressions if order else [])]

    def _calls(self, node: exp.Expression) -> bool:
        """Whether an expression calls an aggregate of this SELECT."""
        parts = node.walk(prune=lambda part: isinstance(part, exp.Query))
        return any(self._is_call(part) for part in parts)

    def _is_call(self, node: exp.Expr) -> bool:
        name = name_of_call(node)
        if name is None or name == "oldest":
            return False
        base = name == self.outer.aggregate.name.lower() and not self.outer.aggregate.window
        return base or user_aggregate(name, self.outer) is not None or written_call(node) is not None  # type: ignore[arg-type]

    def _items(self) -> tuple[list[Value], Columns]:
        items: list[Value] = []
        columns: Columns = []
        for node in self.query.expressions:
            inner = node.this if isinstance(node, exp.Alias) else node
            if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
                found = self._star(inner)
            elif self._is_call(inner) and (several := self._several(inner)):
                found = several
            else:
                value, type_ = self.values.bind(inner, self.scope, "SELECT", self._replaced)
                found = [(node.alias_or_name or inner.sql(), value, type_)]
                self.aliases[found[0][0].lower()] = (value, type_)
            for name, value, type_ in found:
                items.append(value)
                columns.append((name, type_))
        return items, columns

    def _star(self, node: exp.Expression) -> list[tuple[str, Value, SqlType]]:
        wanted = node.table.lower() if isinstance(node, exp.Column) else ""
        inputs = [one for one in self.scope.own if not wanted or one.name.lower() == wanted]
        star = node.this if isinstance(node, exp.Column) else node
        if not inputs or self.grouped or star.args.get("except_"):
            hint = "name the columns"
            _refuse(EslSyntaxError, "* has no columns to stand for here", node, self.text, "SELECT", hint)
        typed = [(c.name, one.column(c.name)) for one in inputs for c in one.schema]
        return [(name, *found) for name, found in typed if found is not None]

    def _several(self, node: exp.Expression) -> list[tuple[str, Value, SqlType]]:
        """The columns of a user-defined aggregate that has several."""
        schema = self._result_of(name_of_call(node) or "")
        if schema is None or len(schema) < 2:
            return []
        return [(c.name, *self._answer(node, c.name)) for c in schema]

    def _result_of(self, name: str) -> Schema | None:
        aggregate = self.outer.aggregate
        if name == aggregate.name.lower() and not aggregate.window:
            return aggregate.result
        found = user_aggregate(name, self.outer)
        return found.result if found else None

    # -- groups --------------------------------------------------------------------------------------------

    def _keys(self) -> None:
        group = self.query.args.get("group")
        if group is None:
            return
        for key, value in group.args.items():
            if value and key != "expressions":
                hint = "write GROUP BY a, b"
                _refuse(NotYet, "this GROUP BY cannot run in a body yet", group, self.text, "GROUP BY", hint)
        for node in group.expressions:
            chosen = self._chosen(node, "GROUP BY")
            if self._calls(chosen):
                hint = "group by a column, or aggregate in a subquery in FROM"
                _refuse(EslSyntaxError, "an aggregate cannot be a key", node, self.text, "GROUP BY", hint)
            value, type_ = self.values.bind(chosen, self.scope, "GROUP BY")
            self.keys.append((chosen, value, type_))

    def _chosen(self, node: exp.Expression, clause: str) -> exp.Expression:
        """What a term of GROUP BY stands for: itself, the n-th item, or the item of that name."""
        items = self.query.expressions
        if isinstance(node, exp.Literal) and not node.is_string:
            if not node.name.isdigit() or not 1 <= int(node.name) <= len(items):
                hint = f"name a column, or its place from 1 to {len(items)}"
                _refuse(EslSyntaxError, f"there is no column {node.name}", node, self.text, clause, hint)
            return items[int(node.name) - 1].unalias()  # type: ignore[no-any-return]
        if isinstance(node, exp.Column) and not node.table:
            known = any(one.column(node.name) for one in self.scope.own)
            named = [i for i in items if isinstance(i, exp.Alias) and i.alias.lower() == node.name.lower()]
            if named and not known:
                return named[0].this  # type: ignore[no-any-return]
        return node

    def _replaced(self, node: exp.Expression) -> Typed | None:
        """Keys and answers, for what stands after the groups are made."""
        if not self.grouped:
            return None
        for index, (key, value, type_) in enumerate(self.keys):
            if node == key:
                return b.GroupValue(index, value.type), type_
        if isinstance(node, exp.Dot) and self._is_call(node.this):
            return self._answer(node.this, node.expression.name)
        if isinstance(node, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls) or self._is_call(node):
            return self._answer(node, None)
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            return self._grouped_column(node)
        if isinstance(node, exp.Query | exp.Exists) or (isinstance(node, exp.In) and node.args.get("query")):
            self._check_apart(node)
        return None

    def _grouped_column(self, node: exp.Column) -> Typed:
        known = any(one.column(node.name) for one in self.scope.own)
        if not node.table and not known and node.name.lower() in self.aliases:
            return self.aliases[node.name.lower()]
        value, type_ = self.scope.column(node, "SELECT")
        for index, (_, key, _) in enumerate(self.keys):
            if key == value:
                return b.GroupValue(index, value.type), type_
        if isinstance(value, b.ColumnOf) and any(value.source == one.number for one in self.scope.own):
            message = f"'{node.name}' is neither grouped nor aggregated"
            hint = f"add it to GROUP BY, or aggregate it, as in max({node.name})"
            _refuse(EslSyntaxError, message, node, self.text, "SELECT", hint)
        return value, type_

    def _check_apart(self, node: exp.Expression) -> None:
        """A subquery beside groups cannot look at the rows that were grouped."""
        names = {c.name.lower() for one in self.scope.own for c in one.schema}
        inner = {t.name.lower() for t in node.find_all(exp.Table)}
        tables = self.outer.aggregate.tables
        known = {c.name.lower() for t in inner for c in tables.get(t, Schema())}
        for column in node.find_all(exp.Column):
            if column.name.lower() in names - known:
                message = "a subquery beside groups cannot read what was grouped yet"
                hint = "group in a subquery in FROM, and use its columns"
                _refuse(NotYet, message, column, self.text, "SELECT", hint)

    def _answer(self, node: exp.Expression, column: str | None) -> Typed:
        aggregation, type_ = bind_aggregation(node, column, self.scope, self.values)
        if aggregation not in self.aggregations:
            self.aggregations.append(aggregation)
        index = len(self.keys) + self.aggregations.index(aggregation)
        return b.GroupValue(index, aggregation.type), type_

    # -- order ---------------------------------------------------------------------------------------------

    def _order(self, items: list[Value]) -> tuple[b.Order, ...]:
        order = self.query.args.get("order")
        terms = []
        for term in order.expressions if order else ():
            node = term.this if isinstance(term, exp.Ordered) else term
            descending = bool(term.args.get("desc"))
            nulls_first = bool(term.args.get("nulls_first", not descending))
            terms.append(b.Order(self._order_value(node, items), descending, nulls_first))
        return tuple(terms)

    def _order_value(self, node: exp.Expression, items: list[Value]) -> Value:
        if isinstance(node, exp.Literal) and not node.is_string:
            if not node.name.isdigit() or not 1 <= int(node.name) <= len(items):
                hint = f"name a column, or its place from 1 to {len(items)}"
                _refuse(EslSyntaxError, f"there is no column {node.name}", node, self.text, "ORDER BY", hint)
            return items[int(node.name) - 1]
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in self.aliases:
            return self.aliases[node.name.lower()][0]
        try:
            return self.values.bind(node, self.scope, "ORDER BY", self._replaced)[0]
        except UnknownName as problem:
            problem.hint = problem.hint or "order by a column of the tables, or of the result"
            raise

    def _number(self, key: str) -> int | None:
        node = self.query.args.get(key)
        if node is None:
            return None
        value = node.expression
        if not isinstance(value, exp.Literal) or not value.name.isdigit():
            hint = f"write {key.upper()} 10"
            _refuse(EslSyntaxError, "expected a whole number", node, self.text, key.upper(), hint)
        return int(value.name)

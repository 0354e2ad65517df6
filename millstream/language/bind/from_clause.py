"""FROM: the relation or the subquery that a SELECT reads, and the window that it is read through."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import REJECTED_SCHEMA, DerivedStream, Stream, Table, TimeStamp
from millstream.catalog.select import Item, Select, TableJoinSpec, WindowJoinSpec
from millstream.errors import EslError, EslSyntaxError, Refused, UnknownName, suggest
from millstream.expressions.build.bound import column_of
from millstream.language.bind.assign_windows import assigned_scope, assigns
from millstream.language.bind.calls.python_calls import python_aggregates
from millstream.language.bind.calls.user_calls import user_versions
from millstream.language.bind.expressions import bind_expression
from millstream.language.bind.history import history_scope, no_history, no_history_of_side
from millstream.language.bind.joins import Join, Joiner, JoinInput, not_in
from millstream.language.bind.progress_columns import progress_columns
from millstream.language.bind.scope import NOTHING, Scope
from millstream.language.bind.templates import matched
from millstream.language.clauses.join_window import join_window
from millstream.language.clauses.table_functions import TableArgument as FunctionInput
from millstream.language.clauses.table_functions import function_window
from millstream.language.clauses.window_clause import WindowClause
from millstream.language.parse.conditions import all_of, terms_of
from millstream.language.parse.nodes import SINCE, EslWindow
from millstream.language.parse.spans import span_of
from millstream.language.parse.statements import Name
from millstream.windows.join_kind import JoinKind

Ctes = Mapping[str, exp.Query]

SHARED = "shared"
"""Marks a SELECT whose FROM others have too, each with a WHERE of its own."""


@dataclass(frozen=True)
class From:
    """What FROM is bound with: the catalog, the subqueries that have names, and how a subquery is bound.

    The FROM of a template is joined with its registrations, too.
    """

    catalog: Catalog
    text: str
    ctes: Ctes
    bind: Callable[[exp.Query, Ctes], Select]
    template: Join | None = None

    def scope(self, query: exp.Select) -> tuple[Scope, exp.Select]:
        """What the names in a SELECT can mean; and the SELECT without what is said by that already."""
        from_ = query.args.get("from_")
        if from_ is None:
            return NOTHING, query
        where = query.args.get("where")
        conditions = terms_of(where.this if where else None)
        semis = [s for s in map(self._semi, conditions) if s is not None]
        joins = query.args.get("joins") or []
        if not joins and not semis:
            if _window_of(from_.this) is not None:
                hint = "write the window behind the aggregate, as in count(*) [RANGE 10 MINUTES, WA ts]"
                message = "a window behind an input is that of a join, and there is only one input"
                raise EslSyntaxError(message, self.text, span_of(_window_of(from_.this)), clause="FROM", hint=hint)
            if self.template is None:
                return self._relation(from_.this), query
        first = self._operand(from_.this)
        others = [self._join(j) for j in joins]
        plain = [c for c in conditions if self._semi(c) is None]
        window, first, others = self._function_window(query, first, others)
        last = [] if self.template is None else [self.template]
        every = [*others, *semis, *last]
        scope, left_over = Joiner(self.text, bool(query.meta.get(SHARED))).join(first, every, plain)
        scope = replace(scope, clause=window)
        if self.template is not None:
            alone = len(every) == 1
            scope = replace(matched(scope, self.template), latent=alone and first.scope.latent)
        rest = query.copy()
        rest.set("joins", None)
        condition = all_of(left_over)
        rest.set("where", None if condition is None else exp.Where(this=condition))
        return scope, rest

    def _operand(self, node: exp.Expression) -> JoinInput:
        """One input of a join; its window may stand before or after its name in this FROM."""
        window = _window_of(node)
        if window is None:
            return JoinInput(self._relation(node), None, span_of(node))
        table = window.this
        if alias := window.args.get("alias"):
            table = table.copy()
            table.set("alias", alias)
        return JoinInput(self._relation(table), join_window(window, self.text), span_of(table) or span_of(window))

    def _function_window(
        self, query: exp.Select, first: JoinInput, others: list[Join]
    ) -> tuple[WindowClause | None, JoinInput, list[Join]]:
        """The inputs without table functions, and the window of what they are joined to.

        Without aggregates a table function is a subquery, which gives each tuple its windows. With them the windows are
        those of the tuples that are joined, which comes to the same where the join makes up no tuples.
        """
        inputs = [first, *(join.input for join in others)]
        made = [i for i in inputs if i.scope.clause is not None]
        if not made:
            return None, first, others
        users = {"aggregates": user_versions(self.catalog), "python": python_aggregates(self.catalog)}
        clause = made[0].scope.clause
        if clause is None or assigns(query, replace(made[0].scope, **users)):  # type: ignore[arg-type]
            return None, self._assigned(first), [replace(j, input=self._assigned(j.input)) for j in others]
        kinds = {join.kind for join in others}
        kept = made == [first] and kinds <= {JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI}
        if not kept and (len(made) > 1 or kinds != {JoinKind.INNER}):
            raise EslSyntaxError(
                "the windows of an aggregate over a join are those of its first input, of which each row needs a tuple",
                self.text,
                made[-1].scope.clause.span if made[-1].scope.clause else None,
                clause="FROM",
                hint="join in a subquery, and give the window to it: FROM TUMBLE((SELECT ... FROM a JOIN b ...), ...)",
            )
        scope = made[0].scope
        time = clause.time and Name(f"{scope.name}.{clause.time.text.rpartition('.')[2]}", clause.time.span)
        window = replace(clause, time=time, partition=tuple(_qualified(key, scope) for key in clause.partition))
        inputs = [replace(i, scope=replace(i.scope, clause=None)) for i in inputs]
        return window, inputs[0], [replace(j, input=i) for j, i in zip(others, inputs[1:], strict=True)]

    def _assigned(self, given: JoinInput) -> JoinInput:
        """The windows of a table function as two more columns."""
        if given.scope.clause is None:
            return given
        scope, assigned = assigned_scope(given.scope, self.text)
        items = tuple(Item(c.name, column_of(c.name, c.type), c.type) for c in scope.schema)
        times = progress_columns(items, scope)
        time, others = (times[0], times[1:]) if times else (None, ())
        select = Select(scope.source, items, None, scope.bounded, time, window_assignment=assigned, other_times=others)
        return replace(given, scope=self._nested(select, scope.name))

    def _join(self, node: exp.Join) -> Join:
        side, kind = (str(node.args.get(key) or "").upper() for key in ("side", "kind"))
        if node.args.get("method"):
            hint = "say what the columns have to do with each other: JOIN b ON a.k = b.k, or USING (k)"
            message = f"{node.args['method']} joins are not part of ESL"
            raise EslSyntaxError(message, self.text, span_of(node) or span_of(node.this), clause="FROM", hint=hint)
        found = {"SEMI": JoinKind.SEMI, "ANTI": JoinKind.ANTI}.get(kind) or {
            "LEFT": JoinKind.LEFT,
            "RIGHT": JoinKind.RIGHT,
            "FULL": JoinKind.FULL,
        }.get(side, JoinKind.INNER)
        if found in {JoinKind.SEMI, JoinKind.ANTI} and side not in {"", "LEFT"}:
            hint = f"turn it round: b LEFT {kind} JOIN a"
            message = f"{side} {kind} JOIN is not part of ESL"
            raise EslSyntaxError(message, self.text, span_of(node.this), clause="FROM", hint=hint)
        on = node.args.get("on")
        using = tuple(node.args.get("using") or ())
        return Join(self._operand(node.this), found, (on,) if on is not None else (), using)

    def _semi(self, condition: exp.Expression) -> Join | None:
        """A condition with a subquery as the join that it is; None if it is another condition."""
        negated = isinstance(condition, exp.Not)
        inner = condition.this if negated else condition
        while isinstance(inner, exp.Paren):
            inner = inner.this
        member: exp.Expression | None = None
        if isinstance(inner, exp.Exists):
            query = inner.this
        elif isinstance(inner, exp.In) and inner.args.get("query") is not None:
            query, member = inner.args["query"], inner.this
            if negated:
                raise not_in(self.text, span_of(inner.this))
        else:
            return None
        query = query.this if isinstance(query, exp.Subquery) else query
        simple = isinstance(query, exp.Select) and {k for k, v in query.args.items() if v} <= _IN_SEMI
        if not simple or query.args.get("from_") is None:
            hint = "it may have a FROM with one input, and a WHERE; name other subqueries with CREATE STREAM ... AS"
            message = "the subquery of IN and EXISTS must be a plain one"
            raise EslSyntaxError(message, self.text, span_of(query) or span_of(inner.this), clause="WHERE", hint=hint)
        operand = self._assigned(self._operand(query.args["from_"].this))
        where = query.args.get("where")
        terms = [_qualified(where.this, operand.scope)] if where else []
        if member is None:
            self._check_asked(query, operand.scope)
        else:
            if len(query.expressions) != 1:
                message, hint = "IN takes a subquery with one column", "name one column"
                raise EslSyntaxError(message, self.text, span_of(member), clause="WHERE", hint=hint)
            item = query.expressions[0]
            value = item.this if isinstance(item, exp.Alias) else item
            terms.append(exp.EQ(this=member.copy(), expression=_qualified(value, operand.scope)))
        return Join(operand, JoinKind.ANTI if negated else JoinKind.SEMI, tuple(terms))

    def _check_asked(self, query: exp.Select, scope: Scope) -> None:
        """What EXISTS selects is never computed, but it must have a meaning."""
        for node in query.expressions:
            if isinstance(node, exp.Literal | exp.Star | exp.Null):
                continue
            hint = "EXISTS asks only whether there is a row: write EXISTS (SELECT 1 FROM ...)"
            try:
                bind_expression(node.unalias(), scope, self.text, "SELECT")
            except EslError as problem:
                problem.hint = hint
                raise

    def _relation(self, node: exp.Expression) -> Scope:
        """What a FROM with one input means."""
        text = self.text
        if isinstance(node, exp.Table) and isinstance(node.this, EslWindow):
            source, clause = function_window(node.this, text)
            return replace(self._input(source, node), clause=clause)
        if isinstance(node, exp.Subquery) and not isinstance(node.this, exp.Query):
            message, hint = "joins are made from left to right", "leave the brackets out, or write a subquery in them"
            raise EslSyntaxError(message, text, span_of(node), clause="FROM", hint=hint)
        if isinstance(node, exp.Subquery):
            return self._nested(self.bind(node.this, self.ctes), node.alias or "subquery")
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Func):
            hint = "read a stream or a table; for rows made by a clock use SOURCE 'rate:10'"
            raise EslSyntaxError(
                "functions that make tables are not part of ESL", text, span_of(node), clause="FROM", hint=hint
            )
        if not isinstance(node, exp.Table):
            hint = "as in FROM s, or FROM (SELECT ...) AS x"
            message = "expected a stream, a table or a subquery"
            span = span_of(node) or span_of(node.find_ancestor(exp.Select)) or (0, len(text.rstrip()))
            raise EslSyntaxError(message, text, span, clause="FROM", hint=hint)
        if joins := node.args.get("joins"):
            message, hint = "joins are made from left to right", "leave the brackets out, or write a subquery in them"
            raise EslSyntaxError(message, text, span_of(joins[0]) or span_of(node), clause="FROM", hint=hint)
        return self._named(node)

    def _input(self, source: FunctionInput, node: exp.Table) -> Scope:
        """The input of a table function."""
        if not isinstance(source, Name):
            return self._nested(self.bind(source, self.ctes), node.alias or "subquery")
        table = exp.Table(this=exp.to_identifier(source.text), alias=node.args.get("alias"))
        table.this.meta.update(start=source.span[0], end=source.span[1] - 1)
        return self._named(table)

    def _named(self, node: exp.Table) -> Scope:
        if not node.db and node.name.lower() in self.ctes:
            # A CTE sees only those before it, so its own name is taken out while it is bound.
            if tokens := node.meta.get(SINCE):
                raise no_history(node.name, "a subquery", tokens, self.text)
            outer = {k: v for k, v in self.ctes.items() if k != node.name.lower()}
            return self._nested(self.bind(self.ctes[node.name.lower()], outer), node.alias or node.name)
        return _relation_scope(node, self.catalog, self.text)

    def _nested(self, select: Select, name: str) -> Scope:
        latent = _is_latent(select, self.catalog)
        others = select.other_times
        return Scope(name, select.schema, select.bounded, select.time, select, latent=latent, other_times=others)


def _window_of(node: exp.Expression) -> EslWindow | None:
    """The window in brackets behind an input."""
    return node if isinstance(node, EslWindow) and node.args["form"] == "[...]" else None


_IN_SEMI = {"expressions", "from_", "where", "kind"}


def _qualified(node: exp.Expression, scope: Scope) -> exp.Expression:
    """Names without a qualifier mean the input of the subquery first, as SQL has it."""

    def resolve(part: exp.Expression) -> exp.Expression:
        if isinstance(part, exp.Column) and not part.table and scope.find(part.name):
            part.set("table", exp.to_identifier(scope.name))
        return part

    return node.copy().transform(resolve, copy=False)


def _is_latent(select: Select, catalog: Catalog) -> bool:
    """Whether the tuples never had a time stamp: then a window may stamp them as they arrive."""
    if select.bounded or select.time or select.window_aggregate or select.over_aggregates or select.window_assignment:
        return False
    match select.source:
        case WindowJoinSpec() | TableJoinSpec():
            return False
        case str():
            return _is_latent_relation(select.source, catalog)
    return all(_is_latent(below, catalog) for below in select.inputs)


def _is_latent_relation(name: str, catalog: Catalog) -> bool:
    match catalog.relation(name):
        case DerivedStream(select=select):
            return _is_latent(select, catalog)
        case Stream(time_stamp=time_stamp):
            return time_stamp is TimeStamp.LATENT
    return False


def _relation_scope(node: exp.Table, catalog: Catalog, text: str) -> Scope:
    span = span_of(node)
    if node.db:
        return _side_output(node, catalog, text)
    relation = catalog.relation(node.name)
    if relation is None:
        hint = suggest(node.name, catalog.relation_names) or "create it first: CREATE STREAM s (...) SOURCE '...'"
        if catalog.sink(node.name):
            hint = f"{node.name} is a sink: rows go into it, and cannot be read from it"
        elif catalog.query(node.name):
            hint = f"{node.name} is a query: to read its rows in other queries, CREATE STREAM {node.name} AS SELECT ..."
        raise UnknownName(f"no stream or table '{node.name}'", text, span, clause="FROM", hint=hint)
    if tokens := node.meta.get(SINCE):
        return history_scope(relation, node.alias or relation.name, tokens, text)
    bounded = isinstance(relation, Table)
    time = None if isinstance(relation, Table) else relation.time
    latent = _is_latent_relation(relation.name, catalog)
    others = relation.select.other_times if isinstance(relation, DerivedStream) else ()
    name = node.alias or relation.name
    return Scope(name, relation.schema, bounded, time, relation.name, latent=latent, other_times=others)


def _side_output(node: exp.Table, catalog: Catalog, text: str) -> Scope:
    span = span_of(node)
    if tokens := node.meta.get(SINCE):
        raise no_history_of_side(tokens, text)
    relation = catalog.relation(node.db)
    side = node.name.upper()
    if relation is None:
        known = [d.name for d in catalog.all(Stream)]
        raise UnknownName(f"no stream '{node.db}'", text, span, clause="FROM", hint=suggest(node.db, known))
    if side not in {"REJECTED", "LATE"}:
        raise UnknownName(
            f"{relation.name} has no side output '{node.name}'",
            text,
            span,
            clause="FROM",
            hint="side outputs are LATE and REJECTED",
        )
    if not isinstance(relation, Stream):
        raise UnknownName(
            f"{relation.name} has no {side}: it is not read from a source",
            text,
            span,
            clause="FROM",
            hint=f"ask the stream it comes from: {_root(relation, catalog)}.{side}",
        )
    if side == "LATE":
        if relation.time is None:
            hint = "declare the stream with ORDER BY its time-stamp column"
            raise Refused(
                f"{relation.name} has no time stamp, so nothing is late", text, span, clause="FROM", hint=hint
            )
        return Scope(node.alias or node.name, relation.schema, False, source=f"{relation.name}.LATE")
    return Scope(node.alias or node.name, REJECTED_SCHEMA, False, source=f"{relation.name}.REJECTED")


def _root(relation: Stream | DerivedStream | Table, catalog: Catalog) -> str:
    while isinstance(relation, DerivedStream):
        below = catalog.relation(next(iter(relation.select.reads), ""))
        if below is None:
            break
        relation = below
    return relation.name

"""FROM: the relation or the subquery that a SELECT reads, and the window that it is read through."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import REJECTED_SCHEMA, DerivedStream, Select, Stream, Table, TimeStamp
from millstream.errors import EslSyntaxError, NotYet, Refused, UnknownName, suggest
from millstream.language.nodes import EslWindow
from millstream.language.scope import NOTHING, Scope
from millstream.language.spans import span_of
from millstream.language.statements import Name
from millstream.language.table_functions import Input, function_window

Ctes = Mapping[str, exp.Query]


@dataclass(frozen=True)
class From:
    """What FROM is bound with: the catalog, the subqueries that have names, and how a subquery is bound."""

    catalog: Catalog
    text: str
    ctes: Ctes
    bind: Callable[[exp.Query, Ctes], Select]

    def scope(self, query: exp.Select) -> Scope:
        """What the names in a SELECT can mean."""
        from_ = query.args.get("from_")
        if from_ is None:
            return NOTHING
        node, text = from_.this, self.text
        if isinstance(node, exp.Table) and isinstance(node.this, EslWindow) and not query.args.get("joins"):
            source, clause = function_window(node.this, text)
            return replace(self._input(source, node), clause=clause)
        if isinstance(node, EslWindow) or isinstance(getattr(node, "this", None), EslWindow):
            raise _not_yet("a window join", node, text)
        if joins := query.args.get("joins"):
            raise _not_yet("a FROM with several inputs", joins[0], text, fallback=node)
        if isinstance(node, exp.Subquery):
            return self._nested(self.bind(node.this, self.ctes), node.alias or "subquery")
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Func):
            hint = "read a stream or a table; for rows made by a clock use SOURCE 'rate:10'"
            raise EslSyntaxError(
                "functions that make tables are not part of ESL", text, span_of(node), clause="FROM", hint=hint
            )
        if not isinstance(node, exp.Table):
            raise EslSyntaxError("expected a stream, a table or a subquery", text, span_of(node), clause="FROM")
        if joins := node.args.get("joins"):
            raise _not_yet("a FROM with several inputs", joins[0], text, fallback=node)
        for extra in ("sample", "pivots", "version", "when", "laterals", "hints"):
            if node.args.get(extra):
                raise not_esl(extra, node, text)
        return self._named(node)

    def _input(self, source: Input, node: exp.Table) -> Scope:
        """The input of a table function."""
        if not isinstance(source, Name):
            return self._nested(self.bind(source, self.ctes), node.alias or "subquery")
        table = exp.Table(this=exp.to_identifier(source.text), alias=node.args.get("alias"))
        table.this.meta.update(start=source.span[0], end=source.span[1] - 1)
        return self._named(table)

    def _named(self, node: exp.Table) -> Scope:
        if not node.db and node.name.lower() in self.ctes:
            # A CTE sees only those before it, so its own name is taken out while it is bound.
            outer = {k: v for k, v in self.ctes.items() if k != node.name.lower()}
            return self._nested(self.bind(self.ctes[node.name.lower()], outer), node.alias or node.name)
        return _relation_scope(node, self.catalog, self.text)

    def _nested(self, select: Select, name: str) -> Scope:
        latent = _is_latent(select, self.catalog)
        return Scope(name, select.schema, select.bounded, select.time, source=select, latent=latent)


def _is_latent(source: Select | str | None, catalog: Catalog) -> bool:
    """Whether the tuples never had a time stamp: then a window may stamp them as they arrive."""
    if isinstance(source, Select):
        timed = source.bounded or source.time or source.windowed or source.framed or source.assigned
        return not timed and _is_latent(source.source, catalog)
    match catalog.relation(source or ""):
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
    if isinstance(relation, Stream) and relation.source is None:
        raise EslSyntaxError(
            f"stream {relation.name} has no SOURCE",
            text,
            span,
            clause="FROM",
            hint=f"create it with one: CREATE STREAM {relation.name} (...) SOURCE 'csv:data/*.csv'",
        )
    bounded = isinstance(relation, Table)
    time = None if isinstance(relation, Table) else relation.time
    latent = _is_latent(relation.name, catalog)
    return Scope(node.alias or relation.name, relation.schema, bounded, time, source=relation.name, latent=latent)


def _side_output(node: exp.Table, catalog: Catalog, text: str) -> Scope:
    span = span_of(node)
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
    if not isinstance(relation, Stream) or relation.source is None:
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
        below = catalog.relation(relation.select.reads or "")
        if below is None:
            break
        relation = below
    return relation.name


def not_esl(key: str, node: exp.Expr, text: str) -> EslSyntaxError:
    """The error for a clause that ESL does not have."""
    words = {"laterals": "LATERAL VIEW", "sample": "TABLESAMPLE", "pivots": "PIVOT", "locks": "FOR UPDATE"}
    word = words.get(key, key.strip("_").upper())
    hint = "docs/language.md lists what is"
    return EslSyntaxError(f"{word} is not part of ESL", text, span_of(node), clause=word, hint=hint)


def _not_yet(what: str, node: exp.Expr, text: str, fallback: exp.Expr | None = None) -> NotYet:
    return NotYet(
        f"{what} is part of the language, but this version cannot run it yet",
        text,
        span_of(node) or span_of(fallback),
        clause="FROM",
        hint="docs/language.md lists what works",
    )

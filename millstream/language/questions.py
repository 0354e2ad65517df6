"""Binds what asks about the catalog and what runs: EXPLAIN, SHOW, DESCRIBE; and SET."""

from __future__ import annotations

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import (
    REJECTED_SCHEMA,
    Definition,
    DerivedStream,
    PythonAggregate,
    Query,
    Stream,
    UserAggregate,
)
from millstream.catalog.schema import Schema
from millstream.catalog.settings import SETTINGS
from millstream.errors import EslSyntaxError, UnknownName, suggest
from millstream.language.bind.registrations import template_named
from millstream.language.bind.select import bind_query
from millstream.language.bound import (
    Account,
    Assignment,
    Bound,
    Description,
    GeneratedCode,
    Listing,
    Plan,
    Reasons,
    RegistrationListing,
)
from millstream.language.parse.standing.registration_statements import ShowRegistrations
from millstream.language.parse.statements import AnalyzeQuery, Describe, Explain, Name, SetValue, Show, WhyNot
from millstream.udas.statements import ExplainAggregate


def bind_explain(statement: Explain, catalog: Catalog) -> Bound:
    """EXPLAIN of a SELECT, a query or a derived stream."""
    if statement.select is not None:
        return Plan(bind_query(statement.select, catalog, statement.text))
    name = statement.name or Name("", statement.span)
    found = catalog.query(name.text) or catalog.relation(name.text)
    if isinstance(found, Query | DerivedStream):
        return Plan(found if isinstance(found, Query) else found.select)
    known = [q.name for q in catalog.all(Query)] + [d.name for d in catalog.all(DerivedStream)]
    raise UnknownName(
        f"no query or derived stream '{name}'",
        statement.text,
        name.span,
        clause="EXPLAIN",
        hint=suggest(name.text, known) or "write EXPLAIN SELECT ...",
    )


def bind_why_not(statement: WhyNot, catalog: Catalog) -> Bound:
    """EXPLAIN WHY NOT."""
    return Reasons(_running(statement.name, catalog, statement.text, "EXPLAIN WHY NOT"))


def bind_analyze_query(statement: AnalyzeQuery, catalog: Catalog) -> Bound:
    """EXPLAIN ANALYZE QUERY: of one that runs."""
    return Account(_running(statement.name, catalog, statement.text, "EXPLAIN ANALYZE"))


def _running(name: Name, catalog: Catalog, text: str, clause: str) -> Query:
    found = catalog.query(name.text)
    if found is None:
        known = [q.name for q in catalog.all(Query)]
        hint = suggest(name.text, known) or "SHOW QUERIES lists those that do"
        raise UnknownName(f"no query '{name}' runs", text, name.span, clause=clause, hint=hint)
    return found


def bind_explain_aggregate(statement: ExplainAggregate, catalog: Catalog) -> Bound:
    """EXPLAIN AGGREGATE: the code made of its body."""
    versions = (catalog.aggregate(statement.name.text, window=window) for window in (False, True))
    found = tuple(v for v in versions if v is not None)
    if not found:
        known = [d.name for d in catalog if isinstance(d, UserAggregate | PythonAggregate)]
        raise UnknownName(
            f"no aggregate '{statement.name}'",
            statement.text,
            statement.name.span,
            clause="EXPLAIN AGGREGATE",
            hint=suggest(statement.name.text, known) or "create it first: CREATE AGGREGATE ...",
        )
    return GeneratedCode(found)


def bind_show(statement: Show, catalog: Catalog) -> Bound:
    """SHOW."""
    return Listing(statement.what)


def bind_describe(statement: Describe, catalog: Catalog) -> Bound:
    """DESCRIBE of anything with a name, or of a side output."""
    name, side = statement.name.text, ""
    found = _named(name, catalog)
    if found is None:
        name, _, side = name.rpartition(".")
        found = _named(name, catalog)
    if found is not None and not side:
        schema = found.select.schema if isinstance(found, Query) else getattr(found, "schema", Schema())
        schema = found.parameters if isinstance(found, UserAggregate | PythonAggregate) else schema
        return Description(found.name, found, schema)
    if isinstance(found, Stream) and side.upper() == "REJECTED":
        return Description(f"{found.name}.REJECTED", found, REJECTED_SCHEMA)
    if isinstance(found, Stream) and side.upper() == "LATE":
        return Description(f"{found.name}.LATE", found, found.schema)
    known = [d.name for d in catalog]
    raise UnknownName(
        f"nothing is named '{statement.name}'",
        statement.text,
        statement.name.span,
        clause="DESCRIBE",
        hint=suggest(statement.name.text, known),
    )


def _named(name: str, catalog: Catalog) -> Definition | None:
    """Whatever has a name, relations first."""
    found = catalog.relation(name) or catalog.query(name) or catalog.sink(name) or catalog.aggregate(name)
    return found or catalog.aggregate(name, window=True)


def bind_show_registrations(statement: ShowRegistrations, catalog: Catalog) -> Bound:
    """SHOW REGISTRATIONS."""
    name = statement.template
    return RegistrationListing(None if name is None else template_named(name, catalog, statement.text, "SHOW").name)


def bind_set(statement: SetValue, catalog: Catalog) -> Bound:
    """SET."""
    name = statement.name.text.lower()
    if name not in SETTINGS:
        raise UnknownName(
            f"no setting '{statement.name}'",
            statement.text,
            statement.name.span,
            clause="SET",
            hint=suggest(name, SETTINGS),
        )
    try:
        SETTINGS[name].read(statement.value)
    except ValueError as problem:
        raise EslSyntaxError(
            f"{name} must be {problem}",
            statement.text,
            statement.value_span,
            clause="SET",
            hint=f"{name}: {SETTINGS[name].what}",
        ) from None
    return Assignment(name, statement.value)

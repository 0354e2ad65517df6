"""Templates: a SELECT whose parameters are columns of its registrations, which its tuples are joined with.

Everything above the join sees parameters as columns. The number of the registration leads the keys of windows and of
OVER, so that each registration has windows of its own, and it is the first column of the answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from millstream.catalog.arrow import to_arrow
from millstream.catalog.definitions import Query
from millstream.catalog.schema import Column, Schema, sql_type, type_name
from millstream.catalog.select import Item, MatchSpec, RegistrationColumn, Select, TableJoinSpec
from millstream.errors import EslSyntaxError, NameTaken, NotYet, Refused, TypeMismatch
from millstream.expressions.build.bound import column_of
from millstream.expressions.compile.arrow import NoArrowForm, arrow_value
from millstream.expressions.reading import bare, children, columns_of, draws_lots, span_of, terms_of
from millstream.expressions.tree import Call, OnlySpark, Value
from millstream.expressions.tree import Column as ColumnOf
from millstream.language.bind.calls.check_calls import expressions_of
from millstream.language.bind.joins import Join, JoinInput
from millstream.language.bind.scope import Scope
from millstream.language.parse.spans import span_of as place_of
from millstream.language.parse.statements import CreateQuery, Span
from millstream.windows.join_kind import JoinKind

ID = "__registration"
"""The column with the number of a registration."""

ANSWERS = "registration"
"""The first column of the answers: which registration they are for."""

_CLAUSE = "CREATE QUERY"
_NUMBER = sql_type("bigint")


def registrations(statement: CreateQuery) -> Join:
    """The registrations of a template, as an input that is joined to those of its FROM."""
    parameters = statement.parameters or Schema()
    for column in parameters:
        if to_arrow(column.type) is None:
            span, hint = statement.places.get(column.name.lower()), "use a number, a text, a date, a time or a BOOLEAN"
            message = f"the parameter {column.name} is {type_name(column.type)}"
            raise TypeMismatch(message, statement.text, span, clause=_CLAUSE, hint=hint)
    if not isinstance(statement.select.unnest(), exp.Select):
        message = "a template of several SELECTs is part of the language, but this version cannot run it yet"
        hint = "name them with CREATE STREAM ... AS, and read that stream"
        raise NotYet(message, statement.text, statement.name.span, clause=_CLAUSE, hint=hint)
    schema = Schema([Column(ID, _NUMBER, nullable=False), *parameters])
    scope = Scope(statement.name.text, schema, bounded=True, source=statement.name.text)
    return Join(JoinInput(scope, None, statement.name.span), JoinKind.INNER)


def matched(scope: Scope, template: Join) -> Scope:
    """The scope of a FROM whose last join is that with registrations; `*` stands for none of their columns."""
    outer = scope.source
    assert isinstance(outer, Select)  # noqa: S101  (a join gives one)
    assert isinstance(outer.source, TableJoinSpec)  # noqa: S101
    columns = tuple(
        RegistrationColumn(item.name, item.expression.name, item.type)
        for item in outer.source.right.items
        if isinstance(item.expression, ColumnOf)  # they all are
    )
    number = next(column.name for column in columns if column.own == ID)
    name = template.input.scope.name
    match = MatchSpec(outer.source.left, name, number, columns, outer.source.condition)
    own = scope.members[-1]
    visible = {low: actual for low, actual in own.columns.items() if actual != number}
    members = (*scope.members[:-1], replace(own, columns=visible))
    return replace(
        scope,
        name=scope.members[0].name,
        source=replace(outer, source=match),
        members=members,
        hidden=frozenset([name]),
    )


def answer_by_registration(select: Select, statement: CreateQuery) -> Select:
    """The SELECT with the number of the registration in its answers and its keys, if its parameters are all used."""
    match = select.source.source if isinstance(select.source, Select) else None
    if not isinstance(match, MatchSpec):
        message, hint = (
            "a template reads a stream",
            "write CREATE QUERY alert (item INT) AS SELECT ... FROM s WHERE ...",
        )
        raise EslSyntaxError(message, statement.text, statement.name.span, clause=_CLAUSE, hint=hint)
    _check_used(select, match, statement)
    _check_judged(select, match, statement)
    if any(item.name.lower() == ANSWERS for item in select.items):
        message = f"the answers of a template have a column '{ANSWERS}' already, which says whose they are"
        written = (item for item in statement.select.selects if item.alias_or_name.lower() == ANSWERS)
        span = next((place for item in written if (place := place_of(item))), statement.name.span)
        raise NameTaken(message, statement.text, span, clause="SELECT", hint="give this one another name with AS")
    own = Item(match.registration, column_of(match.registration, _NUMBER), _NUMBER)
    select = replace(select, items=(replace(own, name=ANSWERS), *select.items))
    if (work := select.window_aggregate) is not None:
        key = replace(own, name="__kr")
        parted = work.partition + 1 if work.window.depends_on_data else 0
        items = (replace(select.items[0], expression=column_of(key.name, _NUMBER)), *select.items[1:])
        select = replace(select, items=items, window_aggregate=replace(work, keys=(key, *work.keys), partition=parted))
    framed = tuple(
        replace(each, keys=(replace(own, name="__pr"), *each.keys), carried=_once(match.registration, each.carried))
        for each in select.over_aggregates
    )
    return replace(select, over_aggregates=framed)


def _once(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return names if name in names else (name, *names)


_JUDGED = {
    *("rlike", "regexplike", "regexp", "regexp_like", "regexp_count", "regexp_substr", "regexp_instr"),
    *("regexp_extract", "regexp_extract_all", "regexp_replace", "split"),
}
"""What Spark computes, and what ends a query where a text that it is given is no regular expression."""

_LIKES = ("like", "ilike")


def _check_judged(select: Select, match: MatchSpec, statement: CreateQuery) -> None:
    """Refuse what would let one registration end the query for all others.

    Patterns of LIKE are looked at when they are registered, where they are looked up.
    """
    parameters = frozenset(column.name for column in match.columns)
    looked_at = next((t for t in map(bare, terms_of(match.condition)) if looks_up_pattern(t, parameters)), None)
    for expression in (*expressions_of(replace(select, source=None)), *expressions_of(match.condition)):
        for part, span in _with_places(expression):
            if part is looked_at:
                continue
            if isinstance(part, Call) and part.function in _LIKES and columns_of(*part.arguments[1:]) & parameters:
                word = part.function.upper()
            elif isinstance(part, OnlySpark) and part.name in _JUDGED and columns_of(part) & parameters:
                word = "rlike" if part.name == "regexplike" else part.name
            else:
                continue
            message = f"{word} cannot read a parameter here: one that is no pattern would end the query for all"
            hint = "one LIKE may be a term of WHERE; startswith and contains know no patterns"
            raise Refused(message, statement.text, span, clause=_CLAUSE, hint=hint)


def _with_places(value: Value, around: Span | None = None) -> Iterator[tuple[Value, Span | None]]:
    """Every part of a value, and where it stands, or else what is around it."""
    span = span_of(value) or around
    yield value, span
    for part in children(value):
        yield from _with_places(part, span)


def looks_up_pattern(term: Value, parameters: frozenset[str]) -> bool:
    """Whether a term finds registrations by a LIKE, of a text of tuples and a pattern of parameters."""
    if not isinstance(term, Call) or term.function != "like" or len(term.arguments) != 2 or draws_lots(term):
        return False
    text, pattern = term.arguments
    read = columns_of(pattern)
    if not read or not read <= parameters or not columns_of(text) or columns_of(text) & parameters:
        return False
    try:
        arrow_value(pattern)
    except NoArrowForm:
        return False
    return True


def check_same_parameters(old: Query, statement: CreateQuery) -> None:
    """Refuse a query in the place of one whose registrations it could not go on with."""
    if old.parameters == statement.parameters:
        return
    was = "no parameters" if old.parameters is None else f"the parameters {old.parameters}"
    message = f"query {old.name} has {was}: another one with other parameters cannot take its place"
    hint = f"DROP QUERY {old.name}, which ends its registrations, or give the new one another name"
    raise Refused(message, statement.text, statement.name.span, clause="CREATE OR REPLACE", hint=hint)


def _check_used(select: Select, match: MatchSpec, statement: CreateQuery) -> None:
    """Refuse parameters that say nothing, and a condition that says nothing of registrations."""
    parameters = {column.name: column.own for column in match.columns if column.name != match.registration}
    chosen = columns_of(match.condition)
    read = [columns_of(term) for term in terms_of(match.condition)]
    if not any(names & parameters.keys() and names - parameters.keys() for names in read):
        raise Refused(
            "WHERE compares no parameter with a tuple: each tuple would be for every registration",
            statement.text,
            statement.name.span,
            clause="WHERE",
            hint="say which tuples a registration is about, as in WHERE item_id = item; outer joins go into a subquery",
        )
    # The SELECT below only passes columns on.
    used = chosen | columns_of(*expressions_of(replace(select, source=None)))
    for name, written in parameters.items():
        if name not in used:
            message, span = f"the parameter {written} is used nowhere", statement.places.get(written.lower())
            raise Refused(message, statement.text, span, clause=_CLAUSE, hint="leave it out, or use it in WHERE")

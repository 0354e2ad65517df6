"""What CREATE AGGREGATE is checked for as a whole, and what its author is warned about."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from millstream.catalog.schema import type_name
from millstream.errors import EslError, EslSyntaxError, NameTaken, NotYet, Refused
from millstream.language.types import coercion as c
from millstream.language.types import functions
from millstream.udas import body as b
from millstream.udas.bind.types import run_type
from millstream.udas.statements import BodyInsert, CreateAggregate, CreatePythonAggregate, Part

CLAUSE = "CREATE AGGREGATE"


def check_head(statement: CreateAggregate | CreatePythonAggregate) -> None:
    """The name, the parameters and the result."""
    name = statement.name
    if functions.kind(name.text) is not None or name.text.lower() == "oldest":
        raise NameTaken(
            f"there is already a function '{name.text.lower()}'",
            statement.text,
            name.span,
            clause=CLAUSE,
            hint=f"choose another name, as my{name.text.lower()}",
        )
    for column in (*statement.parameters, *statement.result):
        if run_type(column.type) is None and isinstance(statement, CreateAggregate):
            raise NotYet(
                f"an aggregate with a body cannot have '{column.name}' {type_name(column.type)} yet",
                statement.text,
                name.span,
                clause=CLAUSE,
                hint="numbers, texts, truths, dates and times work",
            )
    if statement.algebraic:
        _check_algebraic(statement)


def _check_algebraic(statement: CreateAggregate | CreatePythonAggregate) -> None:
    """The answers over parts are what the aggregate is fed with for the whole."""
    given, wanted = ([c.spelt(x.type) for x in schema] for schema in (statement.result, statement.parameters))
    alike = len(given) == len(wanted) and all(
        type_name(g) == type_name(w) or (c.is_numeric(g) and c.is_numeric(w))
        for g, w in zip(given, wanted, strict=True)
    )
    if not alike and isinstance(statement, CreateAggregate):
        raise Refused(
            f"ALGEBRAIC feeds the answers over parts to {statement.name} again, and they are no parameters of it",
            statement.text,
            statement.result_span,
            clause=CLAUSE,
            hint="give the result the types of the parameters, as a sum and a count for both; or leave ALGEBRAIC out",
        )


def check_parts(statement: CreateAggregate) -> dict[str, Part]:
    """The parts by their words: none twice, none missing, none in the wrong kind of aggregate."""
    found: dict[str, Part] = {}
    for part in statement.parts:
        for word in part.words:
            if word.text in found:
                message, hint = f"{word.text} is given twice", "put the statements of both into one"
                raise EslSyntaxError(message, statement.text, word.span, clause=CLAUSE, hint=hint)
            if word.text == "EXPIRE" and not statement.window:
                message = "EXPIRE needs a window: nothing ever leaves a base aggregate"
                hint = f"write CREATE WINDOW AGGREGATE {statement.name}"
                raise Refused(message, statement.text, word.span, clause=CLAUSE, hint=hint)
            found[word.text] = part
    for needed, what in (("INITIALIZE", "the first tuple"), ("ITERATE", "every other tuple")):
        if needed not in found:
            raise EslSyntaxError(
                f"{needed} is missing: it says what {what} does",
                statement.text,
                statement.name.span,
                clause=CLAUSE,
                hint="if all tuples do the same, write INITIALIZE: ITERATE: { ... }",
            )
    statements = [s for part in statement.parts for s in part.statements]
    if not any(isinstance(s, BodyInsert) and s.table.text.lower() == "return" for s in statements):
        raise Refused(
            f"{statement.name} never returns anything",
            statement.text,
            statement.name.span,
            clause=CLAUSE,
            hint="add INSERT INTO RETURN ... to one of its parts",
        )
    return found


def warnings(statement: CreateAggregate, body: b.Body, used: set[str], hidden: Collection[str] = ()) -> tuple[str, ...]:
    """What is allowed and probably not meant; columns stand in the place of `hidden` parameters somewhere."""
    return tuple(str(w).replace("error", "warning", 1) for w in _warnings(statement, body, used, hidden))


def _warnings(statement: CreateAggregate, body: b.Body, used: set[str], hidden: Collection[str]) -> Iterator[EslError]:
    seen = used | _seen_in_window(body)
    for column, span in zip(statement.parameters, statement.parameter_spans, strict=True):
        if column.name.lower() not in seen:
            message, hint = f"the parameter '{column.name}' is never used", "leave it out, or use it"
            if column.name.lower() in hidden:
                hint = f"a column of that name hides it: write {statement.name}.{column.name} for the parameter"
            yield EslError(message, statement.text, span, clause=CLAUSE, hint=hint)
    spans = {t.name.text.lower(): t.name.span for t in statement.tables}
    every = [action for actions in body.parts.values() for action in actions]
    for table in body.tables:
        if table.name == b.INWINDOW:
            continue
        span = spans[table.name]
        filled = bool(table.rows) or any(_inserts(a, table.name) for a in every)
        if table.name not in b.tables_read(tuple(every)):
            message, hint = f"nothing ever reads the table '{table.name}'", "leave it out, or read it"
            yield EslError(message, statement.text, span, clause=CLAUSE, hint=hint)
        elif not filled:
            message, hint = f"the table '{table.name}' is always empty", "INSERT into it, or declare it AS VALUES (...)"
            yield EslError(message, statement.text, span, clause=CLAUSE, hint=hint)
        if _only_grows(table.name, body):
            yield EslError(
                f"the table '{table.name}' only grows: on a stream that does not end its state has no limit",
                statement.text,
                span,
                clause=CLAUSE,
                hint="DELETE what is no longer needed, or run it only over windows that end",
            )


def _inserts(action: b.Action, table: str) -> bool:
    return isinstance(action, b.InsertRows | b.InsertQuery) and action.table == table


def _only_grows(table: str, body: b.Body) -> bool:
    """Whether each tuple may add a row, and no statement takes one away."""
    every = [action for actions in body.parts.values() for action in actions]
    shrinks = any(isinstance(a, b.Delete) and a.table == table for a in every)
    return not shrinks and any(_inserts(a, table) for a in (*body.iterate, *body.expire))


def _seen_in_window(body: b.Body) -> set[str]:
    """The parameters that are looked at as columns of inwindow."""
    numbers = {
        n.number for n in b.walk(tuple(body.parts.values())) if isinstance(n, b.Source) and n.relation == b.INWINDOW
    }
    found = set()
    for node in b.walk(tuple(body.parts.values())):
        if (isinstance(node, b.ColumnOf) and node.source in numbers) or isinstance(node, b.Oldest):
            found.add(body.parameters[node.index].name.lower())
    return found

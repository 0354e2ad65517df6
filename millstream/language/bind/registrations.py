"""REGISTER, UNREGISTER and INVOKE bound to the catalog: arguments become values in the types of the parameters."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from millstream.catalog.arrow import to_arrow
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Query
from millstream.catalog.fit_values import Misfit, fit_values, kind_of
from millstream.catalog.schema import Column, Schema, type_name
from millstream.catalog.select import Select
from millstream.errors import EslSyntaxError, NameTaken, Refused, TypeMismatch, UnknownName, suggest
from millstream.expressions.build.bound import tree_of
from millstream.expressions.compile.arrow import NoArrowForm, arrow_value
from millstream.language.bind.expressions import bind_expression
from millstream.language.bind.scope import NOTHING
from millstream.language.bind.select import bind_query
from millstream.language.bound import Invocation, Registering, Unregistering
from millstream.language.parse.spans import span_of
from millstream.language.parse.standing.registration_statements import Invoke, Register, Unregister, Written
from millstream.language.parse.statements import Name, Span

HANDLE = "handle"
"""The column of a SELECT of registrations that gives them their handles."""

_SINCE = "write INVOKE h SINCE TIMESTAMP '2026-01-01 12:00:00', or SINCE LAST for what is new"
_EXAMPLE = "CREATE QUERY alert (item INT) AS SELECT * FROM bid WHERE item_id = item"


def template_named(name: Name, catalog: Catalog, text: str, clause: str) -> Query:
    """The template of that name."""
    found = catalog.query(name.text)
    if found is None:
        known = [query.name for query in catalog.all(Query) if query.parameters is not None]
        hint = suggest(name.text, known) or f"create it first: {_EXAMPLE}"
        raise UnknownName(f"no template '{name}'", text, name.span, clause=clause, hint=hint)
    if found.parameters is None:
        message = f"query {found.name} has no parameters, so there is nothing to register"
        raise Refused(message, text, name.span, clause=clause, hint=f"a template has some: {_EXAMPLE}")
    return found


def bind_registering(statement: Register, catalog: Catalog) -> Registering:
    """The registrations that a statement makes, as a table of arguments."""
    template = template_named(statement.template, catalog, statement.text, "REGISTER")
    parameters = template.parameters or Schema()
    if statement.select is not None:
        select = bind_query(statement.select, catalog, statement.text)
        _check_select(select, parameters, statement)
        return Registering(template.name, select)
    _check_handles([row.handle for row in statement.rows if row.handle is not None], statement.text, "REGISTER")
    columns: list[list[pa.Array]] = [[] for _ in parameters]
    for row in statement.rows:
        _check_count(row, parameters, statement.text)
        for made, node, parameter in zip(columns, row.arguments, parameters, strict=True):
            made.append(_argument(node, parameter, row.span, statement.text))
    table = pa.table([pa.concat_arrays(made) for made in columns], names=list(parameters.names))
    return Registering(template.name, table, tuple(None if r.handle is None else r.handle.text for r in statement.rows))


def bind_unregistering(statement: Unregister) -> Unregistering:
    """The handles that a statement takes away."""
    _check_handles(list(statement.handles), statement.text, "UNREGISTER")
    return Unregistering(tuple(handle.text for handle in statement.handles))


def bind_invocation(statement: Invoke) -> Invocation:
    """Which answers are asked for."""
    if statement.since is None:
        return Invocation(statement.handle.text, last=statement.last)
    span = span_of(statement.since) or statement.span
    found = _constant(statement.since, span, statement.text, "INVOKE")
    if kind_of(found.type) != "time" or not found[0].is_valid:
        raise TypeMismatch("SINCE takes a time stamp", statement.text, span, clause="INVOKE", hint=_SINCE)
    try:
        moment = found.cast(pa.timestamp("us", tz="UTC"))[0].as_py()
    except (OverflowError, ValueError):  # Python's times end where years have five digits
        message = "SINCE takes a time from the year 1 to 9999"
        raise TypeMismatch(message, statement.text, span, clause="INVOKE", hint=_SINCE) from None
    assert isinstance(moment, datetime)  # noqa: S101
    return Invocation(statement.handle.text, since=moment)


def _argument(node: exp.Expression, parameter: Column, span: Span, text: str) -> pa.Array:
    at = span_of(node) or span
    try:
        return fit_values(_constant(node, at, text, "REGISTER"), parameter)
    except Misfit as problem:
        raise TypeMismatch(str(problem), text, at, clause="REGISTER", hint=problem.hint) from None


def _constant(node: exp.Expression, span: Span, text: str, clause: str) -> pa.Array:
    """The value of an expression without columns."""
    if isinstance(node, exp.Literal) and (node.is_string or len(node.name) < _SHORT):
        # By the thousand, this is most of them.
        if node.is_string or node.name.isdigit():
            return pa.array([node.name if node.is_string else int(node.name)])
        if node.name.replace(".", "", 1).isdigit():
            return pa.array([Decimal(node.name)])
    bound, _ = bind_expression(node, NOTHING, text, clause)
    if isinstance(bound, exp.Null):
        return pa.nulls(1)
    try:
        return arrow_value(tree_of(bound))[0](_ONE)
    except NoArrowForm:
        hint = _SINCE if clause == "INVOKE" else "compute it in a SELECT: REGISTER alert SELECT ... FROM a table"
        raise Refused("this value cannot be computed here", text, span, clause=clause, hint=hint) from None


_SHORT = 18
"""A whole number of fewer digits is a BIGINT."""

_ONE = pa.table({"one": pa.array([1])})


def _check_count(row: Written, parameters: Schema, text: str) -> None:
    if len(row.arguments) != len(parameters):
        message = f"{_counted(len(row.arguments), 'argument')} for {_counted(len(parameters), 'parameter')}"
        raise EslSyntaxError(message, text, row.span, clause="REGISTER", hint=f"the parameters are {parameters}")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _check_handles(handles: list[Name], text: str, clause: str) -> None:
    seen: set[str] = set()
    for handle in handles:
        if handle.text.lower() in seen:
            message, hint = f"the handle '{handle}' is given twice", "each registration has a handle of its own"
            raise NameTaken(message, text, handle.span, clause=clause, hint=hint)
        seen.add(handle.text.lower())


def _check_select(select: Select, parameters: Schema, statement: Register) -> None:
    """The columns are the parameters, by their places, and perhaps one more with handles."""
    at = statement.template.span
    if not select.bounded:
        message = f"{' and '.join(select.reads)} is a stream, and its registrations would never be complete"
        hint = "select from a table, or register rows as they come with mill.register"
        raise Refused(message, statement.text, at, clause="REGISTER", hint=hint)
    columns = [column for column in select.schema if column.name.lower() != HANDLE]
    if len(columns) != len(parameters):
        message = f"{_counted(len(columns), 'column')} for {_counted(len(parameters), 'parameter')}"
        hint = f"the parameters are {parameters}; a column named {HANDLE} may give the handles"
        raise EslSyntaxError(message, statement.text, at, clause="REGISTER", hint=hint)
    handle = select.schema.find(HANDLE)
    wanted = [*zip(columns, parameters, strict=True)]
    if handle is not None:
        wanted.append((handle, Column(HANDLE, exp.DataType.build("string"))))
    for column, parameter in wanted:
        one, other = to_arrow(column.type), to_arrow(parameter.type)
        if one is None or other is None or kind_of(one) != kind_of(other):
            message = (
                f"column {column.name} is {type_name(column.type)}, and {parameter.name} is {type_name(parameter.type)}"
            )
            raise TypeMismatch(message, statement.text, at, clause="REGISTER", hint="CAST it")

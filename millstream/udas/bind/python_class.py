"""CREATE AGGREGATE ... LANGUAGE PYTHON: the class must be there and fit, when the statement is carried out.

To import a module runs it. So nothing is imported while statements are only bound, as for EXPLAIN.
"""

from __future__ import annotations

from millstream.catalog.arrow import carried
from millstream.catalog.definitions import PythonAggregate
from millstream.catalog.schema import type_name
from millstream.errors import NotYet, Refused
from millstream.udas.bind.aggregate import bind_python_aggregate
from millstream.udas.python.declaration import ClassProblem, check_class, find_class
from millstream.udas.statements import CreatePythonAggregate

CLAUSE = "LANGUAGE PYTHON"


def bind_python_class(statement: CreatePythonAggregate) -> PythonAggregate:
    """The aggregate that a class is to be."""
    definition = bind_python_aggregate(statement)
    for column in (*definition.parameters, *definition.result):
        if carried(column.type) is None:
            message = f"an aggregate in Python cannot have '{column.name}' {type_name(column.type)} yet"
            hint = "numbers, texts, truths, dates, times and arrays of them work"
            raise NotYet(message, statement.text, statement.name.span, clause="CREATE AGGREGATE", hint=hint)
    return definition


def load_class(definition: PythonAggregate, statement: CreatePythonAggregate) -> tuple[str, ...]:
    """Import the class, which must fit; what its author should know about it."""
    try:
        form = check_class(find_class(definition.place), len(definition.parameters))
    except ClassProblem as problem:
        raise Refused(str(problem), statement.text, statement.place.span, clause=CLAUSE, hint=problem.hint) from problem
    return form.warnings(definition.name)

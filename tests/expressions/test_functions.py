"""The signatures of functions: what the language says of their types, and what NULL does to them."""

from decimal import Decimal

import pytest
from sqlglot import exp

from millstream.catalog.schema import sql_type, type_name
from millstream.expressions.functions.function import DIGITS
from millstream.expressions.functions.registry import BY_SQL_NAME, FAMILIES, FUNCTIONS
from millstream.language.types.infer import infer

SQL = {
    "bool": "BOOLEAN",
    "int32": "INT",
    "int64": "BIGINT",
    "float64": "DOUBLE",
    "string": "STRING",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}


def test_no_two_families_have_a_function_of_one_name():
    assert len(FUNCTIONS) == sum(len(family.FUNCTIONS) for family in FAMILIES)


@pytest.mark.parametrize("name", sorted(BY_SQL_NAME))
def test_a_function_gives_the_type_that_the_language_says(name):
    function = BY_SQL_NAME[name]
    columns = {f"x{i}": sql_type(SQL[type_.name]) for i, type_ in enumerate(function.arguments)}
    call = exp.Anonymous(this=name, expressions=[exp.column(c) for c in columns])
    assert type_name(infer(call, columns)) == SQL[function.result.name]


def given(function):
    """Arguments of its types, and a type with room for them."""
    sizes = iter([38, 2])
    values = {"bool": True, "string": "1", "decimal": Decimal(1), "float32": 1.0, "float64": 1.0}
    return [next(sizes) if type_ == DIGITS else values.get(type_.name, 1) for type_ in function.arguments]


OFTEN_NULL = {"date_of", "timestamp_of", "timestamp_ntz_of", "date_trunc", "null_as"}


@pytest.mark.parametrize("name", sorted(name for name, function in FUNCTIONS.items() if function.python is not None))
def test_a_strict_function_is_null_wherever_an_argument_is(name):
    function = FUNCTIONS[name]
    arguments = given(function)
    assert function.python(*arguments) is not None or name in OFTEN_NULL
    nulls = [
        function.python(*arguments[:place], None, *arguments[place + 1 :])
        for place, type_ in enumerate(function.arguments)
        if type_ != DIGITS
    ]
    assert nulls == [None] * len(nulls) or not function.strict

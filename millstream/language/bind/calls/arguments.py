"""Arguments of user-defined aggregates: as many as there are parameters, and of types that fit them without a loss."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millstream.catalog.definitions import PythonAggregate, UserAggregate
from millstream.catalog.schema import SqlType, type_name
from millstream.errors import EslSyntaxError, TypeMismatch
from millstream.expressions.build.bound import cast_to, tree_of
from millstream.expressions.tree import Value
from millstream.language.bind.expressions import bind_expression
from millstream.language.bind.scope import Scope
from millstream.language.parse.spans import span_of
from millstream.language.parse.written import written
from millstream.language.types import coercion as c
from millstream.language.types import decimals
from millstream.language.types.literals import stands_for


def bind_arguments(
    definition: UserAggregate | PythonAggregate,
    node: exp.Expression,
    arguments: Sequence[exp.Expression],
    modifier: str,
    scope: Scope,
    text: str,
) -> tuple[Value, ...]:
    """The arguments of a call in the types of the parameters; `modifier` is a DISTINCT or the like of the call."""
    name, wanted = definition.name, definition.parameters
    if modifier:
        hint = "that is for aggregates that are built in"
        raise EslSyntaxError(f"{name} takes no {modifier}", text, span_of(node), clause="SELECT", hint=hint)
    if len(arguments) != len(wanted):
        message = f"{name} takes {len(wanted)} argument{'' if len(wanted) == 1 else 's'}, not {len(arguments)}"
        hint = f"{name}({', '.join(f'{p.name} {type_name(p.type)}' for p in wanted)})"
        raise TypeMismatch(message, text, span_of(node), clause="SELECT", hint=hint)
    bound = []
    for argument, parameter in zip(arguments, wanted, strict=True):
        expression, type_ = bind_expression(argument, scope, text, "SELECT")
        if not fits(type_, parameter.type, expression):
            raise TypeMismatch(
                f"the parameter {parameter.name} of {name} is {type_name(parameter.type)}, and "
                f"{written(argument)} is {type_name(type_)}",
                text,
                span_of(argument) or span_of(node),
                clause="SELECT",
                hint=f"write CAST({written(argument)} AS {type_name(parameter.type)}) if that is meant",
            )
        bound.append(cast_to(tree_of(expression), parameter.type))
    return tuple(bound)


def fits(given: SqlType, wanted: SqlType, value: exp.Expression | None = None) -> bool:
    """Whether values of a type can be passed where another is declared; `value` is looked at if it is a constant.

    >>> from millstream.catalog.schema import sql_type
    >>> fits(c.INT, c.DOUBLE), fits(c.DOUBLE, c.INT), fits(c.STRING, c.INT), fits(c.DATE, c.TIMESTAMP)
    (True, False, False, True)
    >>> fits(sql_type("array<int>"), sql_type("array<bigint>")), fits(c.INT, sql_type("decimal(9, 0)"))
    (True, False)
    """
    given, wanted = c.spelt(given), c.spelt(wanted)
    if c.is_unknown(given) or c.is_null(given) or type_name(given) == type_name(wanted):
        return True
    if c.is_numeric(given) and c.is_numeric(wanted):
        return _holds(wanted, given) or (value is not None and _is_small(value, wanted))
    if c.is_string(given) and (c.is_date(wanted) or c.is_timestamp(wanted)):
        return isinstance(value, exp.Literal) and stands_for(value.name, wanted)
    if c.is_interval(given) and c.is_interval(wanted):
        return c.is_months(given) == c.is_months(wanted)
    if given.is_type("array") and wanted.is_type("array") and given.expressions and wanted.expressions:
        return fits(given.expressions[0], wanted.expressions[0])
    return (c.is_date(given) or c.is_timestamp(given)) and c.is_timestamp(wanted)


def _holds(wanted: SqlType, given: SqlType) -> bool:
    """Whether every number of a type is one of another, but for the digits that fractions round off."""
    if not c.is_decimal(wanted):
        return not c.is_integral(wanted) if c.is_decimal(given) else c.wider_number(given, wanted).this is wanted.this
    digits, others = decimals.digits(wanted), decimals.digits(given)
    if digits is None or others is None:
        return False
    return digits[1] >= others[1] and digits[0] - digits[1] >= others[0] - others[1]


def _is_small(value: exp.Expression, wanted: SqlType) -> bool:
    """Whether a constant is a whole number that the type can hold."""
    sign, bare = 1, value
    while isinstance(bare, exp.Neg | exp.Paren):
        sign, bare = (-sign if isinstance(bare, exp.Neg) else sign), bare.this
    if not isinstance(bare, exp.Literal) or bare.is_string or not bare.name.isdigit():
        return False
    bits = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}.get(type_name(wanted))
    if bits is None:
        found = decimals.digits(wanted)
        return found is not None and len(bare.name.lstrip("0")) <= found[0] - found[1]
    return -(1 << bits) <= sign * int(bare.name) < 1 << bits

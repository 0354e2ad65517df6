"""`@millstream.aggregate`: classes of Python as aggregates of every mill in this process."""

from __future__ import annotations

import inspect
import logging
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, TypeVar, overload

from sqlglot.errors import SqlglotError

from millstream.catalog.arrow import carried
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import PythonAggregate
from millstream.catalog.schema import Column, Schema, sql_type
from millstream.errors import SettingError
from millstream.language.types import functions
from millstream.udas.python.declaration import ClassProblem, check_class, remember

C = TypeVar("C", bound=type)

_LOG = logging.getLogger("millstream")
_TYPES = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "STRING", datetime: "TIMESTAMP", date: "DATE"}
_declarations: list[PythonAggregate] = []


@overload
def aggregate(cls: C) -> C: ...


@overload
def aggregate(
    *,
    parameters: str | Sequence[str] | None = None,
    result: str | Mapping[str, str] | None = None,
    name: str | None = None,
) -> Callable[[C], C]: ...


def aggregate(
    cls: C | None = None,
    *,
    parameters: str | Sequence[str] | None = None,
    result: str | Mapping[str, str] | None = None,
    name: str | None = None,
) -> C | Callable[[C], C]:
    """Make a class an aggregate that can be called by its name in every mill of this process.

    `parameters` are SQL types, one for each value of reduce; `result` is an SQL type, or the names and types of several
    columns. What is not given is read from the annotations of reduce and finish. The module
    millstream.udas.python.declaration says what methods the class must have, and which make it fast.

        @millstream.aggregate
        class Spread:
            state = {"low": float, "high": float}

            def zero(self):
                return {"low": math.inf, "high": -math.inf}

            def reduce(self, state, x: float):
                return {"low": min(state["low"], x), "high": max(state["high"], x)}

            def merge(self, a, b):
                return {"low": min(a["low"], b["low"]), "high": max(a["high"], b["high"])}

            def finish(self, state) -> float:
                return state["high"] - state["low"]
    """

    def declare(given: C) -> C:
        _declarations.append(_definition(given, name or given.__name__, parameters, result))
        return given

    return declare if cls is None else declare(cls)


def adopt(catalog: Catalog, known: int) -> int:
    """Put what was declared since the first `known` declarations into a catalog; returns how many there are now.

    A declaration takes the place of an older one of its name, as when a notebook runs a cell again; what CREATE
    AGGREGATE has made stays.
    """
    for definition in _declarations[known:]:
        taken = catalog.aggregate(definition.name)
        if isinstance(taken, PythonAggregate) and taken in _declarations:
            catalog.remove(taken)
        if catalog.find(definition) is None:
            catalog.add(definition)
    return len(_declarations)


def _definition(
    cls: type, name: str, parameters: str | Sequence[str] | None, result: str | Mapping[str, str] | None
) -> PythonAggregate:
    if functions.kind(name) is not None or not name.isidentifier():
        why = "there is already a function" if name.isidentifier() else "no name for an aggregate:"
        raise SettingError(f"{why} '{name}'\nhelp: choose another one: @millstream.aggregate(name='my{name}')")
    values = _values(cls)
    if parameters is None:
        texts = [_annotated(cls, "reduce", value) for value in values]
    else:
        texts = [parameters] if isinstance(parameters, str) else list(parameters)
    names = values if len(values) == len(texts) else [f"x{i + 1}" for i in range(len(texts))]
    columns = {"result": result or _annotated(cls, "finish", "return")} if not isinstance(result, Mapping) else result
    try:
        form = check_class(cls, len(texts))
    except ClassProblem as problem:
        raise SettingError(f"{problem}\nhelp: {problem.hint}") from None
    for warning in form.warnings(name):
        _LOG.warning(warning)
    return PythonAggregate(
        name=name,
        parameters=_schema(dict(zip(names, texts, strict=True)), cls),
        result=_schema(columns, cls),
        place=remember(cls),
        window=False,
        algebraic=False,
        text=f"@millstream.aggregate {cls.__module__}.{cls.__qualname__}",
    )


def _values(cls: type) -> list[str]:
    """The names of the parameters of reduce after the state; those of a class with batch forms only have none."""
    reduce = getattr(cls, "reduce", None)
    if reduce is None:
        return []
    static = isinstance(inspect.getattr_static(cls, "reduce"), staticmethod | classmethod)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = [p.name for p in inspect.signature(reduce).parameters.values() if p.kind in kinds]
    return named[1 if static else 2 :]


def _annotated(cls: type, method: str, name: str) -> str:
    """The SQL type of an annotation."""
    function = getattr(cls, method, None)
    try:
        hint = typing.get_type_hints(function).get(name) if function else None
    except (NameError, TypeError):
        written = getattr(function, "__annotations__", {}).get(name)
        hint = {kind.__name__: kind for kind in _TYPES}.get(str(written).removesuffix(" | None"))
    if typing.get_origin(hint) in {typing.Union, types.UnionType}:
        hint = next((a for a in typing.get_args(hint) if a is not type(None)), None)
    found = _TYPES.get(hint) if isinstance(hint, type) else None
    if found is not None:
        return found
    what = "what finish returns" if name == "return" else f"'{name}' of reduce"
    fix = "result='DOUBLE'" if name == "return" else "parameters=['DOUBLE']"
    raise SettingError(
        f"the type of {what} is not known in {cls.__qualname__}\n"
        f"help: annotate it as {', '.join(k.__name__ for k in _TYPES)}, or write @millstream.aggregate({fix})"
    )


def _schema(columns: Mapping[str, Any], cls: type) -> Schema:
    found = []
    for name, text in columns.items():
        try:
            type_ = sql_type(str(text))
        except (SqlglotError, ValueError):
            type_ = sql_type("unknown")
        if carried(type_) is None:
            message = f"{cls.__qualname__} cannot have '{name}' of the type {text}"
            raise SettingError(f"{message}\nhelp: numbers, texts, truths, dates, times and arrays of them work")
        found.append(Column(name, type_))
    return Schema(found)

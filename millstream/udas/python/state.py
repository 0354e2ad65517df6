"""What the states of a Python aggregate look like: any object, or a struct whose fields are kept as arrays."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.aggregates.codes import objects

Arrays = dict[str, npt.NDArray[Any]]
"""The states of many groups as batch forms see them: an array per field."""

_KINDS: dict[Any, tuple[str, pa.DataType]] = {
    int: ("int64", pa.int64()),
    float: ("float64", pa.float64()),
    bool: ("bool", pa.bool_()),
    str: ("object", pa.string()),
}

PICKLED = pa.large_binary()
"""The type of packed objects. States of users are small as a rule: that it is large says that they are worth merging,
whereas lists and plain binaries are states that grow with all they see."""


@dataclass(frozen=True)
class Field:
    """A field of a struct: how it is kept in memory, and how it travels."""

    name: str
    dtype: np.dtype[Any]
    arrow: pa.DataType

    def column(self, values: Sequence[Any]) -> npt.NDArray[Any]:
        """Values of single states as an array; nothing is rounded to fit."""
        if self.dtype.hasobject:
            return objects(list(values))
        array = np.array(values)
        if array.dtype.kind == "O" or not np.can_cast(array.dtype, self.dtype, "same_kind"):
            wrong = next((v for v in values if not np.can_cast(np.array(v).dtype, self.dtype, "same_kind")), None)
            raise TypeError(f"'{self.name}' is of the type {self.dtype}, and {wrong!r} is not")
        return array.astype(self.dtype, copy=False)

    @property
    def pickled(self) -> bool:
        """Whether values can only travel as bytes."""
        return bool(self.arrow == PICKLED)


@dataclass(frozen=True)
class Layout:
    """A struct: its fields, and the dataclass that single states are; dictionaries if there is none."""

    fields: tuple[Field, ...]
    kind: type | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(field.name for field in self.fields)

    @property
    def flat(self) -> bool:
        """Whether no field is an object, which a state could share with another."""
        return all(field.dtype != object for field in self.fields)

    def one(self, values: Sequence[Any]) -> Any:
        """A single state from the values of its fields."""
        if self.kind is not None:
            return self.kind(*values)
        return dict(zip(self.names, values, strict=True))

    def values(self, state: Any) -> list[Any]:
        """The values of the fields of a single state."""
        if self.kind is not None:
            return [getattr(state, name) for name in self.names]
        if not isinstance(state, Mapping):
            raise TypeError(f"the state must be a dictionary of {self}, not {type(state).__name__}")
        return [state[name] for name in self.names]

    def arrays(self, state: Any, size: int) -> tuple[npt.NDArray[Any], ...]:
        """The arrays of a batch of states, of the types that were declared; they may be written to."""
        if not isinstance(state, Mapping):
            raise TypeError(f"the state must be a dictionary of arrays {self}, not {type(state).__name__}")
        found = []
        for field in self.fields:
            array = np.asarray(state[field.name]).astype(field.dtype, casting="same_kind", copy=False)
            if array.shape != (size,):
                raise ValueError(f"'{field.name}' must be an array of {size} values, not of the shape {array.shape}")
            found.append(array if array.flags.writeable else array.copy())
        return tuple(found)

    def __str__(self) -> str:
        return ", ".join(self.names)


def declared(kind: Any) -> Layout:
    """The layout that `state = ...` of a class asks for: a dictionary of names and types, or a dataclass.

    >>> [(f.name, str(f.dtype)) for f in declared({"total": float, "names": list}).fields]
    [('total', 'float64'), ('names', 'object')]
    """
    if isinstance(kind, Mapping) and kind:
        return Layout(tuple(_field(str(name), type_) for name, type_ in kind.items()))
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = _hints(kind)
        own = [field for field in dataclasses.fields(kind) if field.init]
        if own and len(own) == len(dataclasses.fields(kind)):
            return Layout(tuple(_field(field.name, hints.get(field.name)) for field in own), kind)
    raise TypeError("state must be a dictionary of names and types, as {'total': float, 'count': int}, or a dataclass")


def probed(arrays: Any) -> Layout:
    """The layout of what zero_batch gives."""
    if not isinstance(arrays, Mapping) or not arrays:
        raise TypeError("zero_batch must return a dictionary of numpy arrays, as {'total': np.zeros(groups)}")
    fields = []
    for name, array in arrays.items():
        dtype = np.asarray(array).dtype
        if dtype.kind not in "iufbMmO":
            raise TypeError(f"zero_batch gives '{name}' as {dtype}: numbers, truths, times and objects work")
        fields.append(Field(str(name), dtype, PICKLED if dtype.hasobject else pa.from_numpy_dtype(dtype)))
    return Layout(tuple(fields))


def read_only(state: Sequence[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """The arrays, for code that must not write to them: other windows need them too."""
    views = [array.view() for array in state]
    for view in views:
        view.flags.writeable = False
    return views


def _field(name: str, type_: Any) -> Field:
    dtype, arrow = _KINDS.get(type_, ("object", PICKLED))
    return Field(name, np.dtype(dtype), arrow)


def _hints(kind: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except (NameError, TypeError, AttributeError):
        known: dict[Any, Any] = {k.__name__: k for k in _KINDS}
        return {field.name: known.get(field.type, field.type) for field in dataclasses.fields(kind)}

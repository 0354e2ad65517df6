"""States of Python aggregates as bytes, also those whose classes came to this process by value.

A class from a script or a notebook cannot be imported where the aggregate runs. It came along with the aggregate's
own class, and is found there again: the methods that make such states refer to it.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache, reduce
from types import FunctionType, ModuleType
from typing import Any

_ATOMS = frozenset({int, float, complex, bool, str, bytes, type(None), Decimal, date, datetime, timedelta})
_SHALLOW = frozenset({dict, list, set, Counter, defaultdict, deque})
_NO_NAMES: dict[str, Any] = {}


def dumps(state: Any, owner: type) -> bytes:
    """The bytes of a state of the aggregate that `owner` is."""
    try:
        return pickle.dumps(state, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError, ImportError):
        buffer = io.BytesIO()
        _Pickler(buffer, owner).dump(state)
        return buffer.getvalue()


def loads(data: bytes, owner: type) -> Any:
    """The state that was written."""
    try:
        return pickle.loads(data)  # noqa: S301  (written by this query)
    except (pickle.UnpicklingError, AttributeError, ImportError):
        return _Unpickler(io.BytesIO(data), owner).load()


def copied(state: Any, owner: type) -> Any:
    """A state that may be changed without changing this one.

    >>> one = {"a": [1]}
    >>> other = copied(one, object)
    >>> other["a"].append(2)
    >>> one, copied((1, 2), object)
    ({'a': [1]}, (1, 2))
    """
    kind = type(state)
    if kind in _ATOMS:
        return state
    if kind is tuple and all(type(part) in _ATOMS for part in state):
        return state
    if kind in _SHALLOW and all(type(p) in _ATOMS for p in (state.values() if isinstance(state, dict) else state)):
        return state.copy()
    return loads(dumps(state, owner), owner)


class _Pickler(pickle.Pickler):
    """Writes the classes that cannot be imported by their names alone."""

    def __init__(self, file: io.BytesIO, owner: type) -> None:
        super().__init__(file, protocol=5)
        self._owner = owner

    def persistent_id(self, obj: Any) -> tuple[str, str] | None:
        """The name of a class that only the owner knows."""
        if not isinstance(obj, type) or _importable(obj):
            return None
        name = (obj.__module__, obj.__qualname__)
        return name if _owned(name, self._owner) is obj else None


class _Unpickler(pickle.Unpickler):
    """Finds classes by their names in what the owner refers to."""

    def __init__(self, file: io.BytesIO, owner: type) -> None:
        super().__init__(file)
        self._owner = owner

    def persistent_load(self, pid: tuple[str, str]) -> type:
        """The class of a name."""
        found = _owned(pid, self._owner)
        if found is None:
            raise pickle.UnpicklingError(f"{self._owner.__qualname__} no longer knows the class {pid[1]}")
        return found


def _importable(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return module is not None and _inside(vars(module), kind.__qualname__) is kind


@lru_cache(maxsize=256)
def _owned(name: tuple[str, str], owner: type) -> type | None:
    """The class of a name that the owner refers to."""
    for found in _referred(owner, name[1]):
        if isinstance(found, type) and (found.__module__, found.__qualname__) == name:
            return found
    return None


def _referred(owner: type, qualname: str) -> Iterator[Any]:
    """What the owner may mean by a name: itself, its attributes, and what its methods see, near before far."""
    yield owner
    waiting: deque[Any] = deque(value for base in owner.__mro__[:-1] for value in vars(base).values())
    visited: set[int] = set()
    while waiting:
        value = waiting.popleft()
        yield value
        function = getattr(value, "__func__", value)
        if isinstance(function, FunctionType):
            yield from (cell.cell_contents for cell in function.__closure__ or () if _filled(cell))
        names = _names(function)
        if id(names) not in visited:
            visited.add(id(names))
            yield _inside(names, qualname)
            waiting.extend(names.values())


def _names(value: Any) -> dict[str, Any]:
    """The names that a function or a module sees; those of what can be imported do not matter."""
    if isinstance(value, FunctionType):
        names = value.__globals__
    elif isinstance(value, ModuleType):
        names = vars(value)
    else:
        return _NO_NAMES
    module = sys.modules.get(str(names.get("__name__")))
    return _NO_NAMES if module is not None and vars(module) is names and _is_library(module) else names


def _is_library(module: ModuleType) -> bool:
    return module.__name__ != "__main__" and getattr(module, "__spec__", None) is not None


def _inside(names: dict[str, Any], qualname: str) -> Any:
    first, *rest = qualname.split(".")
    return reduce(lambda found, part: getattr(found, part, None), rest, names.get(first))


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False

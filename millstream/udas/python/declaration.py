"""The class that a Python aggregate is: where it is found, and what it must have.

| method | what it does |
| --- | --- |
| `zero()` | a new state that has seen nothing |
| `reduce(state, *values)` | the state after one more tuple; it may change the state it is given, and returns it |
| `merge(a, b)` | the state that has seen what both have; it may change `a`, of which it is given a copy |
| `finish(state)` | the answer: a value; a tuple or a dictionary if the result has several columns, a list for rows |
| `remove(state, part)` | if there: the state less what `part` has seen; it makes old panes leave without merging anew |

What is answered must not depend on the order of tuples, nor on how they were cut into parts. Tuples with a NULL are
left out, unless the class has `nulls = True`. A group that has seen nothing answers `finish(zero())`, or NULL if that
fails. `pure = True` promises that merge and remove change nothing, which saves the copy.

A state is any object that can be pickled. `state = {"total": float, "count": int}`, or a dataclass, makes it a struct:
its fields are kept as arrays, and travel as columns. For structs there are batch forms, which see the tuples of all
groups at once and are the fast way; each takes the place of the method of its name, and `state` is a dictionary of
numpy arrays with a place for each group:

| method | what it does |
| --- | --- |
| `zero_batch(groups)` | the states of so many groups |
| `reduce_batch(state, groups, arguments, times)` | the states after the tuples; it may write to those it is given |
| `merge_batch(a, b)`, `remove_batch(state, part)` | new arrays; those given cannot be written to |
| `finish_batch(state)` | the answers: an array of numpy or Arrow, a list, or a masked array where NULL is meant |

For each tuple `groups` has the place of its group, and `times` its time stamp in microseconds; `arguments` has an array
per parameter, of numpy, or of Arrow for texts and decimals and where NULLs count.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from millstream.udas.python.errors import failed
from millstream.udas.python.state import Layout, declared, probed

METHODS = ("zero", "reduce", "merge", "finish")
SHAPE = "class F with zero(), reduce(state, *values), merge(a, b) and finish(state)"

_DECLARED: dict[str, type] = {}
"""Classes that were declared in this process and need not be importable, by their places."""


class ClassProblem(ValueError):
    """A class that cannot be found, or cannot be an aggregate; it knows a way out."""

    def __init__(self, message: str, hint: str = SHAPE) -> None:
        super().__init__(message)
        self.hint = hint


def place_of(cls: type) -> str:
    """How a class is named in CREATE AGGREGATE ... LANGUAGE PYTHON.

    >>> place_of(ClassProblem)
    'millstream.udas.python.declaration:ClassProblem'
    """
    return f"{cls.__module__}:{cls.__qualname__}"


def remember(cls: type) -> str:
    """Make a class known under its place, which is returned; a newer one of the same place wins."""
    _DECLARED[place_of(cls)] = cls
    return place_of(cls)


def known_class(place: str) -> type | None:
    """The class at a place, if it is declared or its module has been imported already; nothing is imported."""
    if place in _DECLARED:
        return _DECLARED[place]
    name, _, qualname = place.partition(":")
    found: Any = sys.modules.get(name)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None


def find_class(place: str) -> type:
    """The class at a place 'module:Class', imported if need be."""
    if place in _DECLARED:
        return _DECLARED[place]
    name, _, qualname = place.partition(":")
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name is not None and not f"{name}.".startswith(f"{problem.name}."):
            raise ClassProblem(f"{name} cannot be imported: {problem}", f"install {problem.name}") from None
        message = f"there is no Python module '{problem.name or name}'"
        hint = "install it, put its file beside the script, or put its folder on PYTHONPATH"
        raise ClassProblem(message, hint) from None
    except (Exception, SystemExit) as problem:
        message = str(failed(name, "import", (), problem)).partition("failed: ")[2]
        raise ClassProblem(f"{name} cannot be imported: {message}", "mend the module") from None
    found: Any = module
    for part in qualname.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        classes = [n for n, v in vars(module).items() if isinstance(v, type) and v.__module__ == name]
        hint = f"it has {', '.join(classes[:8])}" if classes else f"define it there: {SHAPE}"
        raise ClassProblem(f"there is no class '{qualname}' in {name}", hint)
    return found


def check_class(cls: type, parameters: int) -> ClassForm:
    """The form of a class that can be an aggregate of so many parameters; what is wrong with it is raised."""
    form = ClassForm(cls)
    missing = [m for m in METHODS if not (form.has(m) or form.has(f"{m}_batch"))]
    if missing:
        raise ClassProblem(f"{cls.__qualname__} has no {_listed(missing)}")
    try:
        made = form.made
    except (Exception, SystemExit) as problem:
        message = f"{cls.__qualname__}() cannot be made: {type(problem).__name__}: {problem}"
        raise ClassProblem(message, "it is made without arguments, where it runs") from None
    _check_arguments(made, "zero", 0, "")
    _check_arguments(made, "reduce", 1 + parameters, f"the state and {parameters} value{'s'[parameters == 1 :]}")
    for method in ("merge", "remove", "merge_batch", "remove_batch"):
        _check_arguments(made, method, 2, "two states")
    _check_arguments(made, "finish", 1, "the state")
    _check_arguments(made, "reduce_batch", 4, "state, groups, arguments, times")
    try:
        layout = form.layout
        if form.has("zero"):
            state = made.zero()
            if layout is not None:
                layout.values(state)
    except (Exception, SystemExit) as problem:
        message = f"{cls.__qualname__} has no usable state: {type(problem).__name__}: {problem}"
        raise ClassProblem(
            message, "zero() returns a new state, with the fields of `state` if that is declared"
        ) from None
    if layout is None and (batches := [m for m in form.batches if form.has(m)]):
        hint = "declare its fields: state = {'total': float, 'count': int}"
        raise ClassProblem(f"{cls.__qualname__} has {batches[0]}, and its state is no struct", hint)
    return form


@dataclass(frozen=True)
class ClassForm:
    """A class of a user, the one object of it that is used, and what it has."""

    cls: type

    batches = ("zero_batch", "reduce_batch", "merge_batch", "remove_batch", "finish_batch")

    @cached_property
    def made(self) -> Any:
        """The object whose methods are called."""
        return self.cls()

    @cached_property
    def layout(self) -> Layout | None:
        """The struct that its states are, None if they are any objects."""
        kind = getattr(self.cls, "state", None)
        if kind is not None:
            return declared(kind)
        return probed(self.made.zero_batch(0)) if self.has("zero_batch") else None

    def has(self, method: str) -> bool:
        """Whether there is such a method."""
        return callable(getattr(self.cls, method, None))

    @property
    def removable(self) -> bool:
        """Whether parts can be taken out."""
        return self.has("remove") or self.has("remove_batch")

    @property
    def sees_nulls(self) -> bool:
        """Whether tuples with a NULL count."""
        return bool(getattr(self.cls, "nulls", False))

    @property
    def pure(self) -> bool:
        """Whether merge and remove leave what they are given."""
        return bool(getattr(self.cls, "pure", False))

    def warnings(self, name: str) -> tuple[str, ...]:
        """What its author should know about its cost; measured with a sum and a count, see the tests."""
        if self.has("reduce_batch"):
            return ()
        return (
            f"warning: {name} has no reduce_batch: Python calls reduce for every tuple, which costs half a microsecond "
            "or more, some 50 times what the batch form does\n"
            f"help: give {self.cls.__qualname__} the batch forms, as {place_of(ClassForm).partition(':')[0]} says",
        )


def add_folder(folder: str) -> None:
    """Let classes also be found in files of a folder, after all other places."""
    if folder not in sys.path:
        sys.path.append(folder)


def _check_arguments(made: Any, method: str, count: int, wanted: str) -> None:
    function = getattr(made, method, None)
    if function is None:
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*[None] * count)
    except TypeError:
        message = f"{type(made).__qualname__}.{method} takes {signature}, and is called with {wanted or 'nothing'}"
        raise ClassProblem(message) from None


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

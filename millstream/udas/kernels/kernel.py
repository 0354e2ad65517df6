"""Kernels made ready to run: what `kernel_source` writes, compiled by numba once that is worth its time."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from millstream.expressions.functions.mathematics import HELPERS
from millstream.expressions.functions.registry import KERNELS
from millstream.udas.body import Body
from millstream.udas.columns import Bools, Ints, Numbers, dtype, empty
from millstream.udas.kernels.source import Writer, has_kernel

Variables = tuple[np.ndarray[Any, Any], ...]
"""The states of many groups: whether they have seen a tuple, then each variable and whether it is NULL."""


class Kernel:
    """The kernels of one body."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self._writer = Writer(body)

    @property
    def source(self) -> str:
        """The text of the kernels."""
        return "\n\n".join([self._writer.fold(), self._writer.scatter(), self._writer.steps()])

    @cached_property
    def _fold(self) -> Function:
        return compiled(self._writer.fold(), "fold", self.body.name)

    @cached_property
    def _scatter(self) -> Function:
        return compiled(self._writer.scatter(), "scatter", self.body.name)

    @cached_property
    def _steps(self) -> Function:
        return compiled(self._writer.steps(), "steps", self.body.name)

    def fold(self, starts: Ints, ends: Ints, arguments: Sequence[Numbers]) -> tuple[Bools, list[Numbers]]:
        """For each group, whose tuples are in their order from `starts` to `ends`: whether it returns, and what."""
        has, results = self._answers(len(starts))
        self._fold(int((ends - starts).sum()), starts, ends, *_flat(arguments), has, *_flat(results))
        return has, results

    def scatter(self, groups: Ints, size: int, arguments: Sequence[Numbers]) -> tuple[Bools, list[Numbers]]:
        """The same for so many groups, whose tuples come in any order: `groups` has for each tuple its group."""
        has, results = self._answers(size)
        self._scatter(len(groups), groups, *_flat(arguments), *self.variables(size), has, *_flat(results))
        return has, results

    def variables(self, groups: int) -> Variables:
        """The states of groups that have seen nothing."""
        found: list[np.ndarray[Any, Any]] = [np.zeros(groups, dtype=np.bool_)]
        for table in self.body.tables:
            if table.name not in self._writer.tables:
                continue
            for number, column in enumerate(table.columns):
                first = table.rows[0][number].value if table.rows else None
                values = np.full(groups, 0 if first is None else first, dtype=dtype(column.type))
                found += [values, np.full(groups, first is None)]
        return tuple(found)

    def steps(
        self,
        spans: tuple[Ints, Ints, Ints, Ints],
        times: Ints,
        frame: tuple[bool, int],
        chosen: tuple[Bools, Bools],
        expired: Ints,
        arguments: Sequence[Numbers],
        variables: Variables,
    ) -> tuple[Bools, list[Numbers]]:
        """Step through tuples; changes `expired` and `variables`. Answers are by the places of tuples.

        `spans` has for each partition where its new tuples begin and end, its number, and where its tuple number 0
        would be. A frame goes by time or not, and reaches so far. Chosen are the tuples that come and those that
        answer.
        """
        has, results = self._answers(len(times))
        given = (*spans, times, *frame, *chosen, expired, *_flat(arguments))
        self._steps(int((spans[1] - spans[0]).sum()), *given, *variables, has, *_flat(results))
        return has, results

    def _answers(self, size: int) -> tuple[Bools, list[Numbers]]:
        return np.zeros(size, dtype=np.bool_), [empty(field.type, size) for field in self.body.result]


WORTH = 50_000
"""So many tuples go by a kernel as it is, before it is compiled: that takes as long as numba takes to load."""


class Function:
    """A kernel from its text. It runs in Python until enough tuples have come to make compiling it worth the time."""

    def __init__(self, source: str, function: str, name: str) -> None:
        self._source, self._function = source, function
        self._filename = f"<kernel {function} of {name}>"
        linecache.cache[self._filename] = (len(source), None, source.splitlines(keepends=True), self._filename)
        self._tuples = 0

    def __call__(self, tuples: int, *arguments: Any) -> None:
        """Run it; `tuples` says how much there is to do."""
        self._tuples += tuples
        if self._tuples > WORTH:
            self._compiled(*arguments)
            return
        with np.errstate(all="ignore"):  # numba does not look for overflows to infinity either
            self._plain(*arguments)

    @cached_property
    def _plain(self) -> Callable[..., None]:
        return self._made(KERNELS)

    @cached_property
    def _compiled(self) -> Callable[..., None]:
        import numba

        made: Callable[..., None] = numba.njit(self._made(_functions()), error_model="numpy", nogil=True)
        return made

    def _made(self, functions: Mapping[str, Any]) -> Callable[..., None]:
        module: dict[str, Any] = {**functions, "inf": float("inf"), "nan": float("nan")}
        # All text of users has been parsed, typed and written anew: names are made by Namer, literals by repr.
        exec(compile(self._source, self._filename, "exec"), module)  # noqa: S102
        made: Callable[..., None] = module[self._function]
        return made


@lru_cache(maxsize=512)
def compiled(source: str, function: str, name: str) -> Function:
    """A kernel by its text, made once in a process: aggregates are unpacked for each batch."""
    return Function(source, function, name)


@lru_cache(maxsize=1)
def _functions() -> dict[str, Any]:
    import numba

    helpers: dict[str, Any] = {}
    for name, helper in HELPERS.items():  # a helper may call those before it
        helpers[name] = numba.njit(_calling(helper, helpers), error_model="numpy")
    return {name: numba.njit(_calling(f, helpers), error_model="numpy") for name, f in KERNELS.items()}


def _calling(function: Callable[..., Any], helpers: Mapping[str, Any]) -> Callable[..., Any]:
    """The function where it calls compiled helpers in the place of those of Python."""
    if not helpers.keys() & set(function.__code__.co_names):
        return function
    return FunctionType(
        function.__code__,
        {**function.__globals__, **helpers},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )


@lru_cache(maxsize=256)
def kernel_of(body: Body) -> Kernel | None:
    """The kernels of a body, None if it cannot have any."""
    return Kernel(body) if has_kernel(body) else None


def _flat(columns: Sequence[Numbers]) -> list[np.ndarray[Any, Any]]:
    return [array for column in columns for array in column]

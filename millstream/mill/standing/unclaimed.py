"""Registrations that an earlier process made, and that a script may say once more, each once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa


class Unclaimed:
    """They are found by their arguments, and by their handles where the script gives one."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], list[int]] = {}

    def add(self, numbers: Iterable[int], arguments: Sequence[pa.Array]) -> None:
        """Registrations that are there, with their arguments."""
        for number, *row in zip(numbers, *(values.to_pylist() for values in arguments), strict=True):
            self._numbers.setdefault(tuple(row), []).append(number)

    def claim(
        self, arguments: Sequence[pa.Array], wanted: Sequence[str | None], handle_of: Callable[[int], str | None]
    ) -> list[str | None]:
        """For each row of arguments the handle of the registration that it says once more, None for a new one.

        `wanted` are the handles that are given, `handle_of` says that of a registration, None if it has ended.
        """
        if not self._numbers:
            return [None] * len(wanted)
        found = []
        for handle, *row in zip(wanted, *(values.to_pylist() for values in arguments), strict=True):
            known = self._numbers.get(tuple(row), [])
            number = next((n for n in known if _is_called(n, handle_of(n), handle)), None)
            if number is not None:
                known.remove(number)
            found.append(None if number is None else handle_of(number))
        return found


def _is_called(number: int, own: str | None, wanted: str | None) -> bool:
    """Whether a registration has the handle that is given, or one that was made for it if none is."""
    if own is None:
        return False
    return bool(re.fullmatch(rf".*_{number + 1}_*", own)) if wanted is None else own.lower() == wanted.lower()

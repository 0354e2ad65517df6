"""What goes wrong in code of users: who failed, over which values, and where in their file."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from millstream.errors import RunError

OWN = str(Path(__file__).parent)
LONGEST = 120
"""So many characters of a value are shown."""


class UserCodeError(RunError):
    """A method of a Python aggregate failed. The message is one line, so that it can be found in a stack.

    `group` is the number of the group among those that were computed together, if it is known.
    """

    def __init__(self, message: str, group: int | None = None) -> None:
        super().__init__(message)
        self.group = group

    def of_group(self, keys: Sequence[Any]) -> UserCodeError:
        """The same failure with the keys of its group.

        >>> print(UserCodeError("aggregate f: reduce(1) failed", 0).of_group(["a", 7]))
        aggregate f: reduce(1) failed, in the group 'a', 7
        """
        return UserCodeError(f"{self}, in the group {', '.join(map(shown, keys))}", self.group)

    def __reduce__(self) -> tuple[type[UserCodeError], tuple[str, int | None]]:
        return UserCodeError, (str(self), self.group)


def failed(
    name: str, method: str, values: Sequence[Any], problem: BaseException, group: int | None = None
) -> UserCodeError:
    """The failure of a method; `values` are the arguments that help to find the cause."""
    if isinstance(problem, UserCodeError):
        return problem
    said = " ".join(str(problem).split())
    what = f"{type(problem).__name__}: {said}" if said else type(problem).__name__
    return UserCodeError(f"aggregate {name}: {method}({_list(values)}) failed: {what}{_place(problem)}", group)


def shown(value: Any) -> str:
    """A value in one line, and not too long."""
    try:
        text = " ".join(repr(value).split())
    except Exception as problem:  # the representation is code of users too
        text = f"<{type(value).__name__} whose repr fails: {type(problem).__name__}>"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _list(values: Sequence[Any]) -> str:
    return ", ".join(shown(value) for value in values)


def _place(problem: BaseException) -> str:
    """Where in the code of the user it happened: the innermost frame that is not ours."""
    frames = [f for f in traceback.extract_tb(problem.__traceback__) if not f.filename.startswith(OWN)]
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""

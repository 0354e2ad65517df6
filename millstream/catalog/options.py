"""OPTIONS: what an option is, and how its text is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from millstream.catalog.definitions import Options
from millstream.errors import EslSyntaxError, SettingError, suggest


@dataclass(frozen=True)
class Option:
    """One option: how its text is read, its default, and what it does; some decide which rows there are."""

    read: Callable[[str], object]
    default: object
    what: str
    shapes_rows: bool = False


def boolean(text: str) -> bool:
    """Read yes or no.

    >>> boolean("true"), boolean("OFF")
    (True, False)
    """
    if text.lower() in {"true", "yes", "on", "1"}:
        return True
    if text.lower() in {"false", "no", "off", "0"}:
        return False
    raise ValueError("true or false")


def character(text: str) -> str:
    """Read a single character; a tab may be written as such."""
    if text in {"\\t", "tab"}:
        return "\t"
    if len(text) != 1:
        raise ValueError("one character")
    return text


def count(text: str) -> int:
    """Read a number of at least one."""
    if not text.isdigit() or int(text) < 1:
        raise ValueError("a whole number of at least 1")
    return int(text)


def column_names(text: str) -> tuple[str, ...]:
    """Read the names of columns.

    >>> column_names("dt, hm")
    ('dt', 'hm')
    """
    names = tuple(name.strip() for name in text.split(","))
    if "" in names or len({name.lower() for name in names}) < len(names):
        raise ValueError("names of columns, as 'dt, hm', each of them once")
    return names


def one_of(*choices: str) -> Callable[[str], str]:
    """Read one of several words."""

    def read(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(" or ".join(f"'{c}'" for c in choices))
        return text.lower()

    return read


def read_options(given: Options, known: Mapping[str, Option], place: str) -> dict[str, object]:
    """All options of a kind with their values: those given, and the defaults of the others."""
    values = {name: option.default for name, option in known.items()}
    for name, text in given.items():
        if name not in known and re.search("pass|pwd|secret", name):
            # Without the text of the statement: that would print the password.
            hint = "name the variable of the environment that holds it: password_env = 'PGPASSWORD'"
            raise EslSyntaxError(f"'{place}:' has no option '{name}'", clause="OPTIONS", hint=hint)
        if name not in known:
            help_ = suggest(name, known) or f"'{place}:' takes no options"
            raise SettingError(f"'{place}:' has no option '{name}': {help_}")
        try:
            values[name] = known[name].read(text)
        except ValueError as problem:
            raise SettingError(f"option {name} cannot be '{text}': write {problem}") from None
    return values

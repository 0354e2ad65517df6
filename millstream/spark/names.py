"""Names in the texts that Spark reads."""

from __future__ import annotations


def quoted(name: str) -> str:
    """A column by its name, whatever is in it.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"

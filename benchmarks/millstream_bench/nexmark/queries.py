"""The queries q0 to q22, in ESL: one file for each, and one for the streams that they read."""

from __future__ import annotations

from importlib.resources import files

NAMES = tuple(f"q{number}" for number in range(23))
"""All queries, in their order."""

LATEST = frozenset({"q4", "q6", "q9", "q18", "q19"})
"""Queries that tell their whole state again and again: the rows with the last `window_end` are the present ones."""

PARTS = ("person", "auction", "bid", "side")
"""The folders of events, and that of the table of q13."""

_FILES = frozenset({"csv", "json", "parquet"})


def query(name: str) -> str:
    """The statements of one query alone. It feeds a sink of its own name.

    >>> print(query("q2"))
    -- Bids on some auctions.
    INSERT INTO q2 SELECT auction, price FROM bid WHERE auction % 123 = 0;
    <BLANKLINE>
    """
    if name not in NAMES:
        raise ValueError(f"there is no query '{name}': there are q0 to q22")
    return _read(name)


def streams(folder: str, kind: str = "parquet", files_per_batch: int | None = None) -> str:
    """The statements that make the streams and the table, over the folders of events in a folder."""
    addresses = {part: literal(f"{kind}:{folder}/{part}") for part in PARTS}
    batches = f" OPTIONS (max_files_per_batch = {files_per_batch})" if files_per_batch else ""
    return _read("streams").format(**addresses, batches=batches)


def sink(name: str, address: str = "noop:") -> str:
    """The statement that makes the sink of a query.

    >>> sink("q10", "csv:out/it's")
    "CREATE SINK q10 TO 'csv:out/it''s' OPTIONS (partition_by = 'dt, hm');"
    """
    parted = name == "q10" and address.partition(":")[0] in _FILES
    options = " OPTIONS (partition_by = 'dt, hm')" if parted else ""
    return f"CREATE SINK {name} TO {literal(address)}{options};"


def text(
    name: str, folder: str, kind: str = "parquet", address: str = "noop:", files_per_batch: int | None = None
) -> str:
    """A script that runs: streams over a folder, a sink at an address, and the query between them."""
    statements = query(name)
    return f"{streams(folder, kind, files_per_batch)}\n{sink(name, address)}\n\n{statements}"


def literal(value: str) -> str:
    r"""Text as ESL writes it. A backslash escapes there, and a quote is doubled.

    >>> print(literal("a\\b's"))
    'a\\b''s'
    """
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _read(name: str) -> str:
    return (files(__package__) / "queries" / f"{name}.esl").read_text(encoding="utf-8")

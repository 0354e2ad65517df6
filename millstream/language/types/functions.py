"""What functions there are: those of Spark, each with its kind, and those which ESL does not let through."""

from __future__ import annotations

from enum import Enum
from functools import cache
from importlib import resources

from sqlglot import exp

from millstream.aggregates import registry
from millstream.expressions.tree import OnlySpark, Value
from millstream.language.parse.call_name import name_of_call


class Kind(Enum):
    """What a function makes of its rows."""

    SCALAR = "scalar"
    AGGREGATE = "aggregate"
    WINDOW = "window"
    GENERATOR = "generator"
    TABLE = "table"


_JAVA = "it runs any Java method"
_FILES = "it can read files outside the query"
_PACKAGE = "it reads schemas from files, and needs a package that is not part of Spark"
_TIME = "its type TIME is switched off in Spark; keep times of day in TIMESTAMP or STRING"
_WINDOWS = "it groups rows by Spark's own event time; use the windows of ESL"

FORBIDDEN: dict[str, str] = {
    "reflect": _JAVA,
    "java_method": _JAVA,
    "try_reflect": _JAVA,
    "identifier": "it makes a name out of a text, past every check of the names in the query",
    "from_xml": f"{_FILES}: the option rowValidationXSDPath",
    "schema_of_xml": f"{_FILES}: the option rowValidationXSDPath",
    "from_avro": _PACKAGE,
    "to_avro": _PACKAGE,
    "schema_of_avro": _PACKAGE,
    "from_protobuf": _PACKAGE,
    "to_protobuf": _PACKAGE,
    "python_worker_logs": "it reads the logs of Spark's workers",
    "input_file_name": "it tells where files of the storage lie",
    "input_file_block_start": "it tells how files of the storage lie",
    "input_file_block_length": "it tells how files of the storage lie",
    "measure": "it reads a metric view of Spark's catalog",
    "collate": "texts are compared by their bytes everywhere; compare lower(x) with lower(y)",
    **dict.fromkeys(
        [
            *("current_time", "localtime", "make_time", "time", "time_diff", "time_from_micros", "time_from_millis"),
            *("time_from_seconds", "time_to_micros", "time_to_millis", "time_to_seconds", "time_trunc", "to_time"),
            "try_to_time",
        ],
        _TIME,
    ),
    "window": _WINDOWS,
    "session_window": _WINDOWS,
    "window_time": _WINDOWS,
}
"""The functions of Spark which may not be used in ESL, and why."""


@cache
def _kinds() -> dict[str, Kind]:
    text = resources.files("millstream.language.types").joinpath("functions.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines())
    return {name: Kind(kind_) for name, kind_ in rows}


def kind(name: str) -> Kind | None:
    """The kind of a function of Spark or of an aggregate of ours, without regard to case, or None if there is none.

    >>> kind("SUM"), kind("quantile"), kind("upper"), kind("no_such")
    (<Kind.AGGREGATE: 'aggregate'>, <Kind.AGGREGATE: 'aggregate'>, <Kind.SCALAR: 'scalar'>, None)
    """
    found = _kinds().get(name.lower())
    return Kind.AGGREGATE if found is None and registry.find(name) else found


def names() -> tuple[str, ...]:
    """All functions of Spark, in order."""
    return tuple(_kinds())


def makes_rows(value: Value) -> bool:
    """Whether a value is a call such as of explode: without it there would be other rows.

    >>> from millstream.expressions.tree import UNKNOWN
    >>> makes_rows(OnlySpark("explode", (), UNKNOWN)), makes_rows(OnlySpark("upper", (), UNKNOWN))
    (True, False)
    """
    return isinstance(value, OnlySpark) and not value.form and kind(value.name) is Kind.GENERATOR


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node calls an aggregate function.

    >>> from sqlglot import parse_one
    >>> from millstream.language.parse.spark_dialect import SparkFaithful
    >>> is_aggregate(parse_one("collect_list(x)", dialect=SparkFaithful))
    True
    """
    name = name_of_call(node)
    return name is not None and kind(name) is Kind.AGGREGATE

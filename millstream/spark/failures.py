"""Spark's failures in a sentence or two: the cause, without the stack."""

from __future__ import annotations

import re

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from millstream.errors import MillstreamError

SPARK_ERRORS = (PySparkException, Py4JError)
"""What PySpark raises, from its own checks and from the JVM."""

_END = r"(?=\n\s*at |\n\s*\.\.\. \d+ more|\nCaused by|\n\n|\n== |\nJVM stack|\nTraceback|\Z)"
_CAUSE = re.compile(rf"^Caused by: [\w.$]+(?:Exception|Error): ([\s\S]+?){_END}", re.MULTILINE)
_WHOLE = re.compile(rf"[\s\S]+?{_END}")
_PYTHON = re.compile(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)
_OURS = re.compile(r"^(?:[\w.: ]*: )?millstream\.errors\.\w+: (.+(?:\nhelp: .+)?)$", re.MULTILINE)
_USER = re.compile(r"UserCodeError: (.+)$", re.MULTILINE)
_CLASS = re.compile(r"^(?:\[[A-Z_.]+\] )+")
_STATE = re.compile(r"\s*SQLSTATE: .*|\s+1\) You can set \"spark\..*")
"""What follows a sentence of Spark: a code, then its own plan; or advice about settings that nobody here can make."""


def explain_failure(problem: BaseException) -> str:
    r"""What went wrong, for the person who wrote the query.

    >>> explain_failure(ValueError("Query failed\nCaused by: java.io.IOException: disk full\n\tat x"))
    'disk full'
    >>> explain_failure(ValueError("[STREAM_FAILED] Query [id = 1] terminated with exception: [BAD] Oh. SQLSTATE: 2"))
    'Oh.'
    >>> explain_failure(ValueError("[A.B] You may\nget others. SQLSTATE: 42; line 1\n\nJVM stack:\nx"))
    'You may get others.'
    >>> explain_failure(ValueError("File x\nmillstream.errors.RunError: x.csv is gone\nhelp: bring it back\n"))
    'x.csv is gone\nhelp: bring it back'
    >>> print(explain_failure(ValueError("assertion failed: Invalid batch: path#1 != path#2,day#3")))
    folders that are named after values, as day=7, have appeared among the files of a stream
    help: start the query again, or SET reader = 'spark' before it
    """
    if isinstance(problem, MillstreamError):
        return str(problem)
    text = str(problem)
    if header := re.search(r"CSV header does not conform to the schema\.[\s\S]*?CSV file: (\S+)", text):
        # Lines of CSV are read as bytes, see sources/csv.py.
        names = [_as_utf8(name) for name in re.findall(r"^\s*(?:Header|Schema): (.+)$", header[0], re.MULTILINE)]
        found = f" ({names[0]}, not {names[1]})" if len(names) == 2 else ""
        return f"the header of {header[1]} differs from the first file's{found}"
    if "Invalid batch: path#" in text:  # of a stage that reads files by itself
        return (
            "folders that are named after values, as day=7, have appeared among the files of a stream\n"
            "help: start the query again, or SET reader = 'spark' before it"
        )
    if colon := re.search(r"Relative path in absolute URI: ([^\n]+)", text):
        return (
            f"patterns fail in a folder with a file named {colon[1].strip()}: Hadoop's know no colon\n"
            "help: follow the folder, or rename the file"
        )
    if ours := _OURS.findall(text):
        return str(ours[-1])
    if users := _USER.findall(text):
        return str(users[-1]).strip()  # in the words of whoever wrote the aggregate
    text = re.sub(r"Query \[id = [^]]+\] terminated with exception: ", "", text)
    causes = _CAUSE.findall(text) or [m[1] for m in _PYTHON.findall(text)]
    found = causes[-1] if causes else whole[0] if (whole := _WHOLE.match(text.strip())) else type(problem).__name__
    told = " ".join(found.split())  # Spark breaks its sentences into lines
    return _STATE.sub("", _CLASS.sub("", told))


def _as_utf8(text: str) -> str:
    """Text of which Spark has seen the bytes as characters.

    >>> _as_utf8("cafÃ©")
    'café'
    """
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text

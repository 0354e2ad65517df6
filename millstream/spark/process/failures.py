"""Failures of Spark in a sentence or two: the cause, without the stack."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from millstream.connectors.places.bad_files import WAY_OUT
from millstream.errors import MillstreamError, RunError
from millstream.spark.process.jvm import hang_up_if_interrupted, is_lost, last_word

SPARK_ERRORS = (PySparkException, Py4JError, ConnectionError)
"""What PySpark raises: from its own checks, from the JVM, and when that is gone."""

_END = r"(?=\n\s*at |\n\s*\.\.\. \d+ more|\nCaused by|\n\n|\n== |\nJVM stack|\nTraceback|\Z)"
_CAUSE = re.compile(rf"^Caused by: ([\w.$]+)(?:: ([\s\S]+?))?{_END}", re.MULTILINE)
_JAVA = re.compile(rf"^: ([\w.$]+)(?:: ([\s\S]+?))?{_END}", re.MULTILINE)
_WHOLE = re.compile(rf"[\s\S]+?{_END}")
_OURS = re.compile(r"^(?:[\w.: ]*: )?millstream\.errors\.\w+: (.+(?:\nhelp: .+)?)$", re.MULTILINE)
LAST_BREATH_SECONDS = 1.0
"""So long after its connections the JVM itself may be seen."""

_PYTHON = re.compile(r"Traceback \(most recent call last\):\n(?:\s+.*\n)+([A-Za-z_][\w.]*)(?:: (.*))?$", re.MULTILINE)
_FORMS = (_CAUSE, _JAVA, _PYTHON)
_WRAPPERS = ("Py4JJavaError", "PythonException", "StreamingQueryException")
"""They say only that something else has failed."""

_FILE = re.compile(r"[Ee]rror (?:occurred )?while reading file:? (\S+)")
_USER = re.compile(r"UserCodeError: (.+)$", re.MULTILINE)
_CLASS = re.compile(r"^(?:\[[A-Z_.]+\] )+")
_STATE = re.compile(r"\s*SQLSTATE: .*|\s+1\) You can set \"spark\..*")
"""What follows a sentence of Spark: a code, then its own plan; or advice about settings that nobody here can make."""


@contextlib.contextmanager
def translate_failures() -> Iterator[None]:
    """Raise what Spark, the system or Arrow raise as a failure of ours, told for the person who wrote the statement.

    >>> with translate_failures():
    ...     open("/dev/null/x")
    Traceback (most recent call last):
    ...
    millstream.errors.RunError: /dev/null/x: Not a directory
    """
    try:
        with hang_up_if_interrupted():
            yield
    except (*SPARK_ERRORS, OSError, pa.ArrowException) as problem:
        raise RunError(explain_failure(problem)) from problem


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
    if isinstance(problem, Py4JError | ConnectionError) and is_lost(LAST_BREATH_SECONDS):
        return last_word()
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.filename}: {problem.strerror}" if problem.filename else problem.strerror
    text = str(problem)
    if header := re.search(r"CSV header does not conform to the schema\.[\s\S]*?CSV file: (\S+)", text):
        # Lines of CSV are read as bytes, see sources/csv.py.
        names = [_as_utf8(name) for name in re.findall(r"^\s*(?:Header|Schema): (.+)$", header[0], re.MULTILINE)]
        found = f" ({names[0]}, not {names[1]})" if len(names) == 2 else ""
        return (
            f"the header of {header[1]} differs from the first file's{found}\n"
            "help: start the query again: it then reads each file by its own header"
        )
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
    told = " ".join(_cause(text).split())  # Spark breaks its sentences into lines
    told = _STATE.sub("", _CLASS.sub("", told)) or type(problem).__name__
    file = _file(text)
    if not file:
        return told
    told = told.replace(f"file:{file}", file)
    return f"{told if Path(file).name in told else f'{file}: {told}'}\nhelp: {WAY_OUT}"


def _cause(text: str) -> str:
    """The innermost of the failures in a text: each of Spark, Java and Python tells its own inside of another's."""
    found = sorted((m.start(), m[1], (m[2] or "").strip()) for form in _FORMS for m in form.finditer(text))
    if told := [(kind, said) for _, kind, said in found if said and not kind.endswith(_WRAPPERS)]:
        return _word(*told[-1])
    if found:  # without words it says at least what kind of failure it was
        return str(found[-1][1]).rpartition(".")[2]
    return whole[0] if (whole := _WHOLE.match(text.strip())) else ""


def _word(kind: str, said: str) -> str:
    r"""What was said, and of what, where that alone says nothing.

    >>> _word("java.util.regex.PatternSyntaxException", "Unclosed group near index 2\nb(")
    "'b(' is no regular expression: Unclosed group near index 2"
    >>> _word("java.nio.file.AccessDeniedException", "/a/b"), _word("KeyError", "'k'"), _word("ValueError", "no")
    ('/a/b: access denied', "there is no key 'k'", 'no')
    """
    if kind == "KeyError":
        return f"there is no key {said}"
    if kind == "java.util.regex.PatternSyntaxException":
        what, pattern, *_ = [*said.splitlines(), ""]
        return f"'{pattern}' is no regular expression: {what}"
    if not kind.startswith("java.nio.file.") or " " in said:
        return said
    words = re.findall("[A-Z][a-z]+", kind.rpartition(".")[2].removesuffix("Exception"))
    return f"{said}: {' '.join(words).lower()}"


def _file(text: str) -> str:
    """The file that was read when it failed, if there is one."""
    files = _FILE.findall(text)
    return unquote(urlparse(files[-1].rstrip(".,")).path) if files else ""


def _as_utf8(text: str) -> str:
    """Text of which Spark has seen the bytes as characters.

    >>> _as_utf8("cafÃ©")
    'café'
    """
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text

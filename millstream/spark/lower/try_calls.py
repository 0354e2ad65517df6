"""Expressions that only Spark can judge, tried before the statement that they stand in is carried out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from millstream.errors import TypeMismatch
from millstream.expressions.compile.spark import spark_text
from millstream.expressions.reading import children, rewrite, span_of, walk
from millstream.expressions.tree import Column, Lambda, OnlySpark, Type, Value
from millstream.expressions.words import words
from millstream.expressions.written import type_text
from millstream.language.parse.clause_at import STATEMENT, clause_at
from millstream.language.trial.calls import TrialCall, calling, trial_calls
from millstream.language.types import functions
from millstream.spark.names import quoted
from millstream.spark.process.failures import explain_failure


def try_all(spark: SparkSession, judged: Iterable[tuple[object, str]]) -> None:
    """Try bound statements, each with its text; the first mistake is raised."""
    for bound, text in judged:
        try_calls(spark, trial_calls(bound, text))
        try_types(spark, calling(bound), text)


def try_calls(spark: SparkSession, trials: Iterable[TrialCall]) -> None:
    """Compute calls that are constants, and raise the error of the first that fails."""
    # As they are written: what is written to Spark otherwise may give NULL where this fails.
    texts = {words(trial.tried): trial for trial in reversed(list(trials))}
    if texts and _fails(spark, list(texts)):
        for text, trial in reversed(texts.items()):
            if len(texts) == 1 or _fails(spark, [text]):
                raise trial.error


def _fails(spark: SparkSession, texts: list[str]) -> bool:
    """Whether one of the calls fails. They are all constants, so that Spark computes them as it makes a plan."""
    try:
        frame = spark.sql(f"SELECT {', '.join(texts)}")
        frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001
    except AnalysisException:
        return len(texts) > 1 and any(_fails(spark, [text]) for text in texts)  # its types do not fit: told below
    except (PySparkException, Py4JJavaError):
        return True
    return False


def try_types(spark: SparkSession, expressions: Iterable[Value], text: str) -> None:
    """Let Spark look at the types in expressions; it computes nothing. The first mistake is raised.

    An expression of which the type of a column is not known is passed over: it fails when its query starts.
    """
    known = {}
    for expression in expressions:
        if (tried := _Tried.of(expression)) is not None:
            known[tried.text] = tried
    makers = [tried for tried in known.values() if any(map(functions.makes_rows, walk(tried.expression)))]
    others = [tried for tried in known.values() if tried not in makers]
    for together in (others, *([maker] for maker in makers)):  # Spark makes rows once in a SELECT
        if together and _mistake(spark, together) is not None:
            _tell(spark, together, text)


class _Tried:
    """An expression over columns whose names stand for their types."""

    def __init__(self, expression: Value, columns: dict[str, Type], text: str) -> None:
        self.expression, self.columns, self.text = expression, columns, text

    @classmethod
    def of(cls, expression: Value) -> _Tried | None:
        """None if the type of a column is not known."""
        columns = {f"a {type_text(p.type)}": p.type for p in walk(expression) if isinstance(p, Column)}
        if any(type_.name in {"unknown", "null"} for type_ in columns.values()):
            return None

        def stand_in(part: Value) -> Value:
            return Column(f"a {type_text(part.type)}", part.type) if isinstance(part, Column) else part

        return cls(expression, columns, spark_text(rewrite(expression, stand_in)))


def _mistake(spark: SparkSession, together: Sequence[_Tried]) -> AnalysisException | None:
    columns = {name: type_ for tried in together for name, type_ in tried.columns.items()}
    values = [f"CAST(NULL AS {type_text(type_)}) AS {quoted(name)}" for name, type_ in columns.items()]
    source = f" FROM (SELECT {', '.join(values)})" if values else ""
    try:
        spark.sql(f"SELECT {', '.join(tried.text for tried in together)}{source}")
    except AnalysisException as problem:
        return problem
    return None


def _tell(spark: SparkSession, together: Sequence[_Tried], text: str) -> None:
    """Raise the first mistake, of the innermost part that has one."""
    for tried in together:
        problem = _mistake(spark, [tried])
        if problem is None:
            continue
        for part in reversed(list(_whole_parts(tried.expression))):
            if not isinstance(part, OnlySpark) or part.span is None or part.name in _WITHIN_OTHERS:
                continue
            alone = _Tried.of(part)
            if alone is not None and (found := _mistake(spark, [alone])) is not None:
                raise _error(found, part, text) from found
        raise _error(problem, tried.expression, text) from problem


_WITHIN_OTHERS = {"as", "=>", "word"}
"""What is an argument and nothing by itself."""


def _whole_parts(value: Value) -> Iterator[Value]:
    """The parts of a value that mean something by themselves: not those of a function without a name."""
    if not isinstance(value, Lambda):
        yield value
        for part in children(value):
            yield from _whole_parts(part)


def _error(problem: AnalysisException, part: Value, text: str) -> TypeMismatch:
    hint = "SHOW FUNCTIONS lists what there is; the pages of Spark SQL 4.3 tell what each of them takes"
    span = span_of(part)
    clause = clause_at(text, span[0]) if span else STATEMENT
    return TypeMismatch(explain_failure(problem), text, span, clause=clause, hint=hint)

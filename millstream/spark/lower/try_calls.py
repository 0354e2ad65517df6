"""Expressions that only Spark can judge, tried before the statement that they stand in is carried out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from sqlglot import exp

from millstream.catalog.schema import SqlType, type_name
from millstream.errors import TypeMismatch
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.dialect import Esl
from millstream.language.parse.spans import span_of
from millstream.language.trial.calls import TrialCall, calling, trial_calls
from millstream.language.types import functions
from millstream.spark.expressions import spark_text
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
    texts = {str(trial.tried.sql(dialect=Esl)): trial for trial in reversed(list(trials))}
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


def try_types(spark: SparkSession, expressions: Iterable[exp.Expression], text: str) -> None:
    """Let Spark look at the types in expressions; it computes nothing. The first mistake is raised.

    An expression of which the type of a column is not known is passed over: it fails when its query starts.
    """
    known = {}
    for expression in expressions:
        if (tried := _Tried.of(expression)) is not None:
            known[tried.text] = tried
    makers = [tried for tried in known.values() if any(map(functions.makes_rows, tried.expression.walk()))]
    others = [tried for tried in known.values() if tried not in makers]
    for together in (others, *([maker] for maker in makers)):  # Spark makes rows once in a SELECT
        if together and _mistake(spark, together) is not None:
            _tell(spark, together, text)


class _Tried:
    """An expression over columns whose names stand for their types."""

    def __init__(self, expression: exp.Expression, columns: dict[str, SqlType], text: str) -> None:
        self.expression, self.columns, self.text = expression, columns, text

    @classmethod
    def of(cls, expression: exp.Expression) -> _Tried | None:
        """None if the type of a column is not known."""
        columns: dict[str, SqlType] = {}
        copy = expression.copy()
        for column in list(copy.find_all(exp.Column)):
            type_ = column.type
            if not isinstance(type_, exp.DataType) or type_.is_type("unknown", "null"):
                return None
            name = f"a {type_name(type_)}"
            columns[name] = type_
            column.this.replace(exp.to_identifier(name, quoted=True))
        return cls(expression, columns, spark_text(copy))


def _mistake(spark: SparkSession, together: Sequence[_Tried]) -> AnalysisException | None:
    columns = {name: type_ for tried in together for name, type_ in tried.columns.items()}
    values = [f"CAST(NULL AS {type_.sql(dialect='spark')}) AS {quoted(name)}" for name, type_ in columns.items()]
    source = f" FROM (SELECT {', '.join(values)})" if values else ""
    try:
        spark.sql(f"SELECT {', '.join(tried.text for tried in together)}{source}")
    except AnalysisException as problem:
        return problem
    return None


def _tell(spark: SparkSession, together: Sequence[_Tried], text: str) -> None:
    """Raise the first mistake, of the innermost call that has one."""
    for tried in together:
        problem = _mistake(spark, [tried])
        if problem is None:
            continue
        for node in reversed(list(tried.expression.walk())):
            if not isinstance(node, exp.Expression) or not name_of_call(node) or node.find_ancestor(exp.Lambda):
                continue
            part = _Tried.of(node)
            if part is not None and (found := _mistake(spark, [part])) is not None:
                raise _error(found, node, text) from found
        raise _error(problem, tried.expression, text) from problem


def _error(problem: AnalysisException, node: exp.Expr, text: str) -> TypeMismatch:
    hint = "SHOW FUNCTIONS lists what there is; the pages of Spark SQL 4.3 tell what each of them takes"
    return TypeMismatch(explain_failure(problem), text, span_of(node), clause="statement", hint=hint)

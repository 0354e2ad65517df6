"""The forms of an expression, computed over the table: by Spark, on Arrow, in bodies of aggregates and in kernels."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from millstream.catalog.arrow import carried
from millstream.catalog.catalog import Catalog
from millstream.catalog.schema import type_name
from millstream.errors import EslSyntaxError, NotYet, TypeMismatch
from millstream.expressions.arrow.types import column_of
from millstream.expressions.build import calls
from millstream.expressions.build.bound import tree_of
from millstream.expressions.compile.arrow import arrow_value
from millstream.expressions.compile.spark import spark_text
from millstream.expressions.elementary import elementary
from millstream.expressions.functions.written_numbers import float32_text, float_text
from millstream.expressions.tree import Call
from millstream.language.binder import bind
from millstream.language.parse.dialect import Esl
from millstream.language.parser import statements
from millstream.language.types.checks import check
from millstream.language.types.infer import infer
from millstream.udas.arrow import to_values
from millstream.udas.body import walk
from millstream.udas.columns import numbers, to_arrow
from millstream.udas.generated.compiled import compile_aggregate
from millstream.udas.kernels.kernel import kernel_of
from tests.laws.user_sql import user_sql
from tests.laws.values import TYPES, replace, table


@dataclass(frozen=True)
class Expression:
    """An expression as it is written, its type, and the columns that it reads."""

    text: str
    type: exp.DataType
    reads: tuple[str, ...]

    @property
    def parsed(self):
        """The expression with its types, before it is a tree."""
        parsed = parse_one(self.text, dialect=Esl)
        infer(parsed, TYPES)
        return parsed

    @property
    def tree(self):
        """The expression as the binder leaves it."""
        return tree_of(self.parsed)

    @property
    def kind(self):
        """Its type in Arrow."""
        return carried(self.type)


def expression(text):
    """An expression, None if the text is none, the binder would refuse it, or only Spark knows its type."""
    try:
        tree = parse_one(text, dialect=Esl)
    except SqlglotError:
        return None
    if check(tree, TYPES) or carried(tree.type) is None:
        return None
    read = {c.name for c in tree.find_all(exp.Column)}
    return Expression(text, tree.type, tuple(n for n in TYPES if n in read))


def arrow_form(given):
    """What computes an expression on Arrow tables, None if there is nothing that does."""
    try:
        compute, type_ = arrow_value(given.tree)
    except ValueError:
        return None
    assert type_ == given.kind, f"{given.text} would be {type_}"
    return lambda: compute(table())


def tree_calls(given):
    """The functions that the tree of an expression calls, and those that these mean."""
    both = given.tree, elementary(given.tree)
    return {node.function for tree in both for node in walk(tree) if isinstance(node, Call)}


def body_of(given):
    """The body of an aggregate that returns an expression of its parameters, None if there is none."""
    parameters = ", ".join(f"{n} {type_name(TYPES[n])}" for n in given.reads) or "a_int INT"
    text = f"""CREATE AGGREGATE law ({parameters}) : (r {type_name(given.type)}) {{
        INITIALIZE: ITERATE: {{ INSERT INTO RETURN VALUES ({given.text}); }} }};"""
    try:
        (statement,) = statements(text)
        return bind(statement, Catalog()).definition.body
    except (NotYet, TypeMismatch, EslSyntaxError):
        return None


def known_names():
    """The functions that are computed by others than Spark, by the names that SQL has for them."""
    return calls.NAMES


def arguments():
    """The columns that a body which reads none is called with."""
    return ("a_int",)


def python_form(given, body):
    """What a body computes as a class of Python."""

    def compute():
        state = compile_aggregate(body).new()
        columns = [to_values(table()[n].combine_chunks()) for n in given.reads or arguments()]
        return column_of([state.add(*row)[0][0] for row in zip(*columns, strict=True)], given.kind)

    return compute


def kernel_form(given, body):
    """What a body computes as a kernel, None if it cannot be one."""
    kernel = kernel_of(body)
    if kernel is None:
        return None

    def compute():
        rows, names = table().num_rows, given.reads or arguments()
        columns = [numbers(table()[n].combine_chunks(), f.type) for n, f in zip(names, body.parameters, strict=True)]
        _, (found,) = kernel.scatter(np.arange(rows), rows, columns)
        return to_arrow(found, body.result[0].type).cast(given.kind)

    return compute


@dataclass(frozen=True)
class Computed:
    """An expression that others than Spark compute too: its forms by their names, and the functions that they call."""

    given: Expression
    forms: dict
    calls: frozenset


def computed(text):
    """An expression with its forms besides Spark's; None if there are none."""
    given = expression(text)
    if given is None:
        return None
    found = {"Arrow": arrow_form(given)}
    body = body_of(given) if not pa.types.is_list(given.kind) else None
    called = tree_calls(given)
    if body is not None:
        found |= {"Python": python_form(given, body), "kernel": kernel_form(given, body)}
        called |= {node.function for node in walk(body.initialize) if isinstance(node, Call)}
    found = {name: form for name, form in found.items() if form is not None}
    return Computed(given, found, frozenset(called)) if found else None


def settle(spark):
    """Leave fractions out that this Java writes with more digits than they need, as those before Java 19 do."""
    names = [n for n in TYPES if n.split("_")[1] in {"float", "double"}]
    frame = spark.createDataFrame(table().select(names))
    written = frame.selectExpr(*(f"CAST(CAST({n} AS {t}) AS STRING)" for n in names for t in ("FLOAT", "DOUBLE")))
    texts = iter(written.toArrow().columns)
    for name in names:
        narrow, wide = (next(texts).to_pylist() for _ in range(2))
        values = table()[name].to_pylist()
        short = [v is None or float_text(v) == w for v, w in zip(values, wide, strict=True)]
        if "float" in name:
            short = [s and (v is None or float32_text(v) == w) for s, v, w in zip(short, values, narrow, strict=True)]
        replace(name, [v if s else 1.25 for v, s in zip(values, short, strict=True)])


GROUP = 250
"""So many expressions are one query of Spark."""


def as_user(given):
    """An expression as its user has written it."""
    return user_sql(given.parsed)


def as_tree(given):
    """An expression as its tree is written to Spark."""
    return spark_text(given.tree)


def of_spark(spark, expressions, write=as_user):
    """What Spark gives for expressions, by their texts; where it refuses one, its words."""
    frame = spark.createDataFrame(table())
    plain = [n for n in TYPES if n.endswith("ts_ntz")]
    # Spark takes a timestamp without a zone for one that has one.
    frame = frame.withColumns({n: F.expr(f"CAST({n} AS TIMESTAMP_NTZ)") for n in plain}).cache()
    found = {}
    for start in range(0, len(expressions), GROUP):
        found |= _asked(frame, expressions[start : start + GROUP], write)
    frame.unpersist()
    return found


def _asked(frame, expressions, write):
    texts = [f"{write(e)} AS c{i}" for i, e in enumerate(expressions)]
    try:
        columns = frame.selectExpr(*texts).toArrow().columns
    except Exception as error:
        if len(expressions) == 1:
            return {expressions[0].text: str(error).splitlines()[0][:200]}
        half = len(expressions) // 2
        return _asked(frame, expressions[:half], write) | _asked(frame, expressions[half:], write)
    return {e.text: c.combine_chunks() for e, c in zip(expressions, columns, strict=True)}

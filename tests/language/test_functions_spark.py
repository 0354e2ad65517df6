"""Functions, texts and types against Spark itself, by the examples that Spark documents and by our own."""

import importlib.util
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from millstream.catalog.schema import sql_type, type_name
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.spark_dialect import SparkFaithful
from millstream.language.types.functions import FORBIDDEN, Kind, kind
from millstream.language.types.infer import infer

pytestmark = pytest.mark.spark

HERE = Path(__file__).parent
COLUMNS = {
    "i": "int",
    "b": "bigint",
    "si": "smallint",
    "f": "float",
    "d": "double",
    "dc": "decimal(10,2)",
    "big": "decimal(38,10)",
    "s": "string",
    "dt": "date",
    "ts": "timestamp",
    "bo": "boolean",
    "ai": "array<int>",
    "m": "map<string,int>",
    "st": "struct<a:int,b:string>",
}
ROW = """3 AS i, 40L AS b, 5S AS si, 1.5F AS f, 2.5D AS d, 12.34BD AS dc, 98765.4321 AS big, 'a_b' AS s,
    DATE '2024-03-01' AS dt, TIMESTAMP '2024-03-01 12:34:56.789' AS ts, true AS bo, array(1, 2, 3) AS ai,
    map('k', 7) AS m, named_struct('a', 1, 'b', 'x') AS st"""

EACH_TIME_ANEW = {
    **dict.fromkeys(["rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle"], "random"),
    **dict.fromkeys(["current_timestamp", "current_time", "localtime", "localtimestamp", "now"], "the clock"),
    **dict.fromkeys(["current_date", "curdate", "unix_timestamp"], "the clock"),
    "aes_encrypt": "a random initialization vector",
}
"""Functions whose results are not compared, and why; their types are."""

REFUSED_BY_SPARK = {
    "UNSUPPORTED_TIME_TYPE": "the type TIME is off unless a setting turns it on",
    "CANNOT_PARSE_DATATYPE": "timestamps with nanoseconds are off unless a setting turns them on",
    "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE": "timestamps with nanoseconds, as before",
    "UNSUPPORTED_FEATURE": "timestamps with nanoseconds, as before",
    "FEATURE_NOT_ENABLED": "timestamps with nanoseconds, as before",
    "USER_RAISED_EXCEPTION": "raise_error does what it says",
    "INVALID_FORMAT": "the example needs spark.sql.parser.escapedStringLiterals",
    "INVALID_PARAMETER_VALUE": "the example needs spark.sql.parser.escapedStringLiterals",
}
"""Errors with which Spark answers its own examples under the settings of Millstream."""

NOT_PARSED = {
    r"\bX '": "a hexadecimal literal with a space after the X",
    r">>>": "the operator >>>, which is the function shiftrightunsigned, too",
}
"""What sqlglot cannot read: it is refused, never changed."""


@dataclass
class Outcome:
    """What became of the examples."""

    counts: Counter = field(default_factory=Counter)
    wrong: list = field(default_factory=list)

    def note(self, what, *details):
        self.counts[what] += 1
        if details:
            self.wrong.append((what, *details))


def _types(spark, text):
    return [f.dataType.simpleString() for f in spark.sql(text).schema.fields]


def _error_class(error):
    match = re.search(r"\[([A-Z_.0-9]+)\]", str(error))
    return match.group(1) if match else str(error)[:80]


def _letters(text):
    return re.sub(r"[\s`]", "", text).casefold()


def _note_refusal(outcome, statement, error):
    known = any(_error_class(error).startswith(c) for c in REFUSED_BY_SPARK)
    outcome.note("refused by Spark", *([] if known else [statement, _error_class(error)]))


def _run(spark, pairs, outcome):
    """Runs texts and what became of them in one query; one by one if that fails."""
    parts = [
        f"SELECT {index} AS i, {side} AS side, cast(struct(*) AS string) AS r FROM ({text}\n)"
        for index, pair in enumerate(pairs)
        for side, text in enumerate(pair)
    ]
    try:
        rows = spark.sql(" UNION ALL ".join(parts)).collect()
    except Exception as error:
        if len(pairs) == 1:
            _note_refusal(outcome, pairs[0][0], error)
        else:
            for pair in pairs:
                _run(spark, [pair], outcome)
        return
    for index, pair in enumerate(pairs):
        sides = [sorted(str(r.r) for r in rows if (r.i, r.side) == (index, side)) for side in (0, 1)]
        outcome.note("same results", *([] if sides[0] == sides[1] else [*pair, *sides]))


@pytest.fixture(autouse=True)
def quick(spark):
    """Compiling code for each of the many small queries would take most of the time."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.adaptive.enabled": "false"}
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield
    for key, value in before.items():
        spark.conf.set(key, value)


@pytest.fixture(scope="module")
def infos(spark):
    found = spark._jvm.org.apache.spark.sql.api.python.PythonSQLUtils.listBuiltinFunctionInfos()
    return {i.getName(): i.getExamples() or "" for i in found}


@pytest.fixture(scope="module")
def examples(infos):
    """Each example once, with the function that it is documented under."""
    found = {}
    for name, text in sorted(infos.items()):
        for statement in re.findall(r"^\s*> (SELECT.*?);\s*$", text, re.MULTILINE | re.DOTALL):
            if name not in FORBIDDEN:
                found.setdefault(statement, name)
    return found


def test_the_table_of_functions_is_that_of_this_spark(spark):
    path = HERE.parent.parent / "scripts" / "functions.py"
    spec = importlib.util.spec_from_file_location("functions_script", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.TARGET.read_text() == script.table(spark)


def test_every_example_comes_back_with_its_meaning(spark, examples):
    outcome = Outcome()
    alike, changed = 0, []
    for statement, name in examples.items():
        try:
            again = parse_one(statement, dialect=SparkFaithful).sql(dialect=SparkFaithful)
        except SqlglotError as error:
            known = any(re.search(pattern, statement) for pattern in NOT_PARSED)
            outcome.note("not parsed", *([] if known else [statement, error]))
            continue
        if _letters(again) == _letters(statement):
            alike += 1
            continue
        try:
            before = _types(spark, statement)
        except Exception as error:
            _note_refusal(outcome, statement, error)
            continue
        try:
            after = _types(spark, again)
            outcome.note("same types", *([] if before == after else [statement, again, before, after]))
            changed += [(statement, again)] if name not in EACH_TIME_ANEW else []
        except Exception as error:
            outcome.note("failed", statement, again, _error_class(error))
    for start in range(0, len(changed), 12):
        _run(spark, changed[start : start + 12], outcome)
    outcome.counts["same letters"] = alike
    assert not outcome.wrong
    assert outcome.counts["not parsed"] <= 12


def test_the_types_of_every_example_are_those_of_spark(spark, examples):
    outcome = Outcome()
    for statement in examples:
        try:
            tree = parse_one(statement, dialect=SparkFaithful)
            found = _types(spark, statement)
        except Exception:
            continue
        if len(found) != len(tree.expressions):
            continue
        source = tree.args.get("from_")
        columns = {}
        if source is not None:
            try:
                columns = _schema(spark.sql(f"SELECT * {source.sql(dialect=SparkFaithful)}"))
            except Exception:
                continue
        for node, wanted in zip(tree.expressions, found, strict=True):
            _compare(outcome, node, columns, wanted)
    assert not outcome.wrong
    assert outcome.counts["unknown"] < 0.15 * outcome.counts.total()


def _schema(frame):
    columns = {}
    for f in frame.schema.fields:
        try:
            columns[f.name] = sql_type(f.dataType.simpleString())
        except (SqlglotError, ValueError):
            continue
    return columns


def _compare(outcome, node, columns, wanted):
    got = type_name(infer(node, columns))
    if got == "UNKNOWN":
        outcome.note("unknown")
        return
    expected = "NULL" if wanted == "void" else type_name(sql_type(wanted))
    outcome.note("told", *([] if got == expected else [node.sql(dialect=SparkFaithful), got, expected]))


def test_our_own_expressions_are_typed_and_written_as_spark_has_them(spark):
    spark.sql(f"SELECT {ROW}").selectExpr(
        *[f"CAST({name} AS {type_}) AS {name}" for name, type_ in COLUMNS.items()]
    ).createOrReplaceTempView("one_row")
    columns = {name: sql_type(type_) for name, type_ in COLUMNS.items()}
    outcome = Outcome()
    lines = (HERE / "expressions.txt").read_text().splitlines()
    expressions = [line for line in lines if line and not line.startswith("#")]
    assert len(expressions) > 250
    batches = defaultdict(list)
    for text in expressions:
        node = parse_one(text, dialect=SparkFaithful)
        kinds = {kind(name_of_call(n) or "") for n in node.walk()}
        many = "window" if node.find(exp.Window) else (Kind.AGGREGATE in kinds, Kind.GENERATOR in kinds)
        batches[many].append((text, node))
    for batch in batches.values():
        written = [node.sql(dialect=SparkFaithful) for _, node in batch]
        before = [text for text, _ in batch]
        selects = [f"SELECT {', '.join(side)} FROM one_row" for side in (before, written)]
        types = [_types(spark, text) for text in selects]
        cells = [_cells(spark, text, len(batch)) for text in selects]
        for index, (text, node) in enumerate(batch):
            same = types[0][index] == types[1][index] and cells[0][index] == cells[1][index]
            outcome.note("round trip", *([] if same else [text, written[index], cells[0][index], cells[1][index]]))
            _compare(outcome, node, columns, types[0][index])
    assert not outcome.wrong
    assert outcome.counts["unknown"] <= 10


def _cells(spark, text, width):
    named = spark.sql(text).toDF(*map(str, range(width)))
    return list(named.selectExpr(*[f"cast(`{i}` AS string)" for i in range(width)]).collect()[0])

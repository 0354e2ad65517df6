"""What only Spark can judge is told before anything is done: with the function, the argument and what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.errors import EslError, RunError, TypeMismatch
from millstream.language.binder import bind
from millstream.language.parser import parse
from millstream.mill import Mill, connect
from millstream.spark.lower.try_calls import try_all
from tests.language import auctions

pytestmark = pytest.mark.spark

WRONG = {
    "seller_id RLIKE 'a('": "rlike: 'a(' is no regular expression",
    "NOT seller_id RLIKE concat('a', '[')": "rlike: concat('a', '[') is no regular expression",
    "regexp_like(seller_id, '*')": "regexp_like: '*' is no regular expression",
    "regexp_extract(seller_id, '(', 1)": "regexp_extract: '(' is no regular expression",
    "regexp_extract(seller_id, 'a(b)', 2)": "regexp_extract: 'a(b)' has not the groups that 2 asks for",
    "regexp_extract(seller_id, 'ab')": "regexp_extract: 'ab' has not a group in brackets",
    "regexp_replace(seller_id, 'a', '$3')": "regexp_replace: 'a' has not the groups that '$3' asks for",
    "split(seller_id, '(')[0]": "split: '(' is no regular expression",
    "transform(array(seller_id), x -> regexp_count(x, '['))": "regexp_count: '[' is no regular expression",
    "str_to_map(seller_id, '(', ':')": "str_to_map: '(' is no regular expression",
    "from_utc_timestamp(start_time, 'Nowhere')": "from_utc_timestamp: 'Nowhere' is no time zone",
    "to_utc_timestamp(start_time, '+25:00')": "to_utc_timestamp: '+25:00' is no time zone",
    "convert_timezone('Nowhere', current_timestamp()::TIMESTAMP_NTZ)": "convert_timezone: 'Nowhere' is no time zone",
    "make_timestamp(2024, 1, 1, item_id, 0, 0, 'Nowhere')": "make_timestamp: 'Nowhere' is no time zone",
    "format_string('%d', seller_id)": "format_string: '%d' is no format for these arguments",
    "format_string('%s %s', seller_id)": "format_string: '%s %s' is no format for these arguments",
    "printf('%y', item_id)": "printf: '%y' is no format for these arguments",
    "date_format(start_time, concat('YYYY', '-'))": "date_format: concat('YYYY', '-') is no pattern of times",
    "xpath_string(seller_id, 'a/[')": "xpath_string: 'a/[' is no path in XML",
    "variant_get(parse_json(seller_id), 'a', 'int')": "variant_get: 'a' is no path",
    "aes_encrypt(seller_id, 'short')": "aes_encrypt: 'short' is no key, mode or padding of AES",
    "to_json(array(start_time), map('dateFormat', 'Y'))": "to_json: map('dateFormat', 'Y') is no map of options",
}
"""Calls that fail whatever the rows hold, and what is said."""

TYPES = {
    "array_contains(array(item_id), 'a')": "array_contains(array(item_id), 'a')",
    "substring(seller_id)": "seller_id",
    "map_keys(seller_id)": "map_keys(seller_id)",
    "abs(upper(map_values(seller_id)))": "map_values(seller_id)",
    "transform(array(item_id), x -> map_keys(x))": "transform(array(item_id), x -> map_keys(x))",
    "explode(seller_id)": "explode(seller_id)",
}
"""Calls whose types do not fit, and where that is shown."""

RIGHT = """
    seller_id RLIKE '^a(b|c)+\\\\d' | seller_id RLIKE seller_id | regexp_extract(seller_id, 'a(b)') |
    regexp_extract(seller_id, 'a', 0) | regexp_extract(seller_id, seller_id, item_id) |
    regexp_replace(seller_id, '(a)', '$1$1') | split(seller_id, ',') | split(seller_id, '|') |
    from_utc_timestamp(start_time, 'Europe/Berlin') | from_utc_timestamp(start_time, '+01:00') |
    from_utc_timestamp(start_time, seller_id) | convert_timezone('UTC', 'PST', '2024-01-01'::TIMESTAMP_NTZ) |
    make_timestamp(2024, 1, 1, 0, 0, 0, 'CET') | format_string('%d %s %.2f', item_id, seller_id, price) |
    format_string('100 %%') | format_number(price, '#,##0.0') | format_number(price, 2) |
    date_format(start_time, 'EEEE') | to_date(seller_id, 'dd.MM.yyyy') | unix_timestamp(seller_id, 'HH:mm') |
    xpath_int(seller_id, 'a/b') | variant_get(parse_json(seller_id), '$.a', 'int') |
    aes_encrypt(seller_id, '0123456789abcdef', 'CBC') | from_json(seller_id, 'a INT', map('mode', 'PERMISSIVE')) |
    to_json(named_struct('t', start_time), map('timestampFormat', 'yyyy')) | explode(array(item_id)) |
    transform(array(item_id), x -> x + 1) | aggregate(array(item_id), 0, (a, x) -> a + x)
"""


def judged(spark: SparkSession, text: str) -> None:
    catalog = auctions.catalog()
    (statement,) = parse(text)
    bound = bind(statement, catalog)
    try_all(spark, [(bound, text)])


def told(spark: SparkSession, call: str) -> TypeMismatch:
    with pytest.raises(TypeMismatch) as problem:
        judged(spark, f"SELECT {call} AS x FROM open_auction")
    return problem.value


def test_what_can_never_work_is_told(spark: SparkSession) -> None:
    found = {call: told(spark, call) for call in WRONG}
    assert {call: error.message.lower() for call, error in found.items()} == {c: w.lower() for c, w in WRONG.items()}
    assert all(error.span is not None and error.hint for error in found.values())


def test_types_that_do_not_fit_are_told(spark: SparkSession) -> None:
    found = {call: told(spark, call) for call in TYPES}
    assert {call: e.text[slice(*e.span)] for call, e in found.items() if e.span is not None} == TYPES
    assert not [error.message for error in found.values() if "\n" in error.message]


def test_what_may_work_passes(spark: SparkSession) -> None:
    items = ", ".join(f"{call} AS c{number}" for number, call in enumerate(RIGHT.split(" |")))
    judged(spark, f"SELECT {items} FROM open_auction")


def test_nothing_is_carried_out_before(mill: Mill) -> None:
    with pytest.raises(EslError, match="no regular expression"):
        mill.execute("CREATE STREAM s (t STRING) SOURCE 'csv:a.csv'; SELECT t FROM s WHERE t RLIKE '(';")
    assert mill.catalog.relation("s") is None


def test_streams_without_a_spark_are_judged_with_the_first_query_over_them(spark: SparkSession, tmp_path: Path) -> None:
    with connect(base=tmp_path, once=True) as mill:
        mill.execute("CREATE STREAM s (t STRING) SOURCE 'csv:a.csv'")
        mill.execute("CREATE STREAM r AS SELECT t FROM s WHERE t RLIKE '('; CREATE STREAM q AS SELECT t FROM r")
        with pytest.raises(EslError, match="no regular expression"):
            mill.execute("SELECT t FROM q")


def test_what_is_read_from_rows_fails_in_one_sentence(mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,p\nabc,b(\n")
    mill.execute("CREATE TABLE s (t STRING, p STRING) SOURCE 'csv:a.csv'")
    with pytest.raises(RunError) as problem:
        mill.execute("SELECT t RLIKE p AS x FROM s")
    assert str(problem.value) == "'b(' is no regular expression: Unclosed group near index 2"


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("SELECT map_keys(seller_id) AS x FROM open_auction", "SELECT"),
        ("SELECT item_id FROM open_auction WHERE seller_id RLIKE 'a('", "WHERE"),
        ("SELECT item_id FROM (SELECT item_id FROM open_auction WHERE seller_id RLIKE 'a(') AS x", "WHERE"),
        ("SELECT item_id FROM (SELECT item_id FROM open_auction) AS x WHERE upper(map_keys(item_id)) = 'a'", "WHERE"),
        ("SELECT count(*) [RANGE 1 HOUR] AS n FROM open_auction GROUP BY seller_id RLIKE 'a('", "GROUP BY"),
        (
            "SELECT o.item_id FROM open_auction AS o JOIN item AS i ON o.item_id = i.item_id AND seller_id RLIKE '('",
            "ON",
        ),
        (
            "CREATE STREAM s (a STRING, ts TIMESTAMP) ORDER BY ts PUNCTUATED BY (a RLIKE 'a(') SOURCE 'csv:x'",
            "PUNCTUATED BY",
        ),
    ],
)
def test_the_clause_is_named(spark: SparkSession, text: str, clause: str) -> None:
    with pytest.raises(TypeMismatch, match=rf"^error in {clause}: "):
        judged(spark, text)

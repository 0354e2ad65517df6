"""What the functions of Spark return: by a list where it is always the same, else by a rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError

from millstream.catalog.column_types import MAX_PRECISION
from millstream.catalog.schema import UNKNOWN, SqlType, sql_type, type_name
from millstream.language.types import coercion as c
from millstream.language.types import decimals


@dataclass(frozen=True)
class TypedCall:
    """A call of a function: its arguments, their types, and how to type a lambda among them."""

    nodes: Sequence[exp.Expr]
    types: Sequence[SqlType]
    body: Callable[[exp.Expr, Sequence[SqlType]], SqlType]

    def type(self, index: int) -> SqlType:
        """The type of an argument, UNKNOWN if it is not given."""
        return self.types[index] if index < len(self.types) else UNKNOWN

    def number(self, index: int) -> int | None:
        """The value of an argument that is written as a whole number."""
        node = self.nodes[index] if index < len(self.nodes) else None
        sign = -1 if isinstance(node, exp.Neg) else 1
        node = node.this if isinstance(node, exp.Neg) else node
        return sign * int(node.name) if isinstance(node, exp.Literal) and node.is_int else None

    def text(self, index: int) -> str | None:
        """The value of an argument that is written as a text."""
        node = self.nodes[index] if index < len(self.nodes) else None
        return str(node.name) if isinstance(node, exp.Literal) and node.is_string else None


Rule = Callable[[TypedCall], SqlType]

_FIXED = {
    "boolean": """any array_contains arrays_overlap bool_and bool_or boolean contains endswith equal_null every
        exists forall ilike is_valid_utf8 is_valid_variant is_variant_null isnan isnotnull isnull like luhn_check
        map_contains_key regexp regexp_like rlike some startswith xpath_boolean""",
    "tinyint": "bit_get getbit grouping tinyint",
    "smallint": "smallint xpath_short",
    "int": """array_size ascii bit_count bit_length cardinality char_length character_length day dayofmonth
        dayofweek dayofyear dense_rank find_in_set hash hour instr int json_array_length len length levenshtein
        locate minute month ntile octet_length position quarter rank regexp_count regexp_instr row_number second
        size spark_partition_id unix_date weekday weekofyear xpath_int year""",
    "bigint": """approx_count_distinct array_position bigint bitmap_bit_position bitmap_bucket_number bitmap_count
        count count_if crc32 factorial grouping_id hll_sketch_estimate kll_sketch_get_n_bigint
        kll_sketch_get_n_double kll_sketch_get_n_float monotonically_increasing_id regr_count
        theta_sketch_estimate timestampdiff to_unix_timestamp unix_micros unix_millis unix_seconds unix_timestamp
        width_bucket xpath_long xxhash64""",
    "float": "float vector_cosine_similarity vector_inner_product vector_l2_distance vector_norm xpath_float",
    "double": """acos acosh asin asinh atan atan2 atanh cbrt corr cos cosh cot covar_pop covar_samp csc cume_dist
        degrees double e exp expm1 hypot jaro_winkler_similarity kurtosis ln log log10 log1p log2 months_between
        percent_rank pi pow power radians rand randn random regr_avgx regr_avgy regr_intercept regr_r2 regr_slope
        regr_sxx regr_sxy regr_syy rint sec sign signum sin sinh skewness sqrt std stddev stddev_pop stddev_samp
        tan tanh tuple_sketch_estimate_double tuple_sketch_estimate_integer tuple_sketch_theta_double
        tuple_sketch_theta_integer var_pop var_samp variance xpath_double xpath_number""",
    "string": """array_join base64 bin btrim char chr concat_ws conv current_catalog current_database
        current_schema current_timezone current_user date_format dayname format_number format_string
        from_unixtime get_json_object hex initcap lcase lower ltrim make_valid_utf8 mask md5 monthname
        parse_url printf quote randstr regexp_extract regexp_replace regexp_substr repeat replace right rtrim
        collation schema_of_csv schema_of_json schema_of_variant schema_of_variant_agg session_user sha sha1 sha2
        soundex space split_part string substring_index to_base32 to_char to_csv to_json to_varchar to_xml translate
        trim try_parse_url try_url_decode try_validate_utf8 typeof ucase upper url_decode url_encode user uuid
        validate_utf8 version xpath_string""",
    "binary": """aes_decrypt aes_encrypt binary bitmap_and_agg bitmap_construct_agg bitmap_or_agg encode
        from_base32 hll_sketch_agg hll_union hll_union_agg to_binary try_aes_decrypt try_to_binary unbase64
        unhex""",
    "date": """add_months curdate current_date date date_from_unix_date date_sub last_day make_date next_day
        to_date trunc try_to_date""",
    "timestamp": """current_timestamp make_timestamp make_timestamp_ltz now timestamp timestamp_micros
        timestamp_millis timestamp_seconds to_timestamp to_timestamp_ltz try_make_timestamp
        try_make_timestamp_ltz try_to_timestamp""",
    "timestamp_ntz": "convert_timezone localtimestamp make_timestamp_ntz to_timestamp_ntz try_make_timestamp_ntz",
    "interval": "make_interval try_make_interval",
    "interval day to second": "make_dt_interval",
    "interval year to month": "make_ym_interval",
    "array<float>": "vector_avg vector_normalize vector_sum",
    "array<string>": "json_object_keys regexp_extract_all split xpath",
    "array<array<string>>": "sentences",
    "map<string, string>": "str_to_map",
    "variant": """parse_json to_variant_object try_parse_json try_variant_array_append try_variant_insert
        try_variant_set variant_array_append variant_delete variant_insert variant_set variant_strip_nulls""",
    "decimal(10, 0)": "decimal",
}
FIXED: dict[str, SqlType] = {name: sql_type(t) for t, names in _FIXED.items() for name in names.split()}
"""The functions that always return the same type."""

_PARTS = frozenset(
    [
        "YEAR",
        "Y",
        "YEARS",
        "YR",
        "YRS",
        "YEAROFWEEK",
        "QUARTER",
        "QTR",
        "MONTH",
        "MON",
        "MONS",
        "MONTHS",
        "WEEK",
        "W",
        "WEEKS",
        "DAY",
        "D",
        "DAYS",
        "DAYOFWEEK",
        "DOW",
        "DAYOFWEEK_ISO",
        "DOW_ISO",
        "DOY",
        "HOUR",
        "H",
        "HOURS",
        "HR",
        "HRS",
        "MINUTE",
        "M",
        "MIN",
        "MINS",
        "MINUTES",
    ]
)
_ONE_TYPE = re.compile(r"\s*\w+\s*(<.*>|\([\d, ]*\))?\s*", re.DOTALL)
_SECONDS = frozenset(["SECOND", "S", "SEC", "SECONDS", "SECS"])


def _same(call: TypedCall) -> SqlType:
    return call.type(0)


def _known(type_: SqlType | None) -> SqlType:
    return UNKNOWN if type_ is None else type_


def _all_equal(call: TypedCall) -> SqlType:
    first = call.type(0)
    return first if len({type_name(t) for t in call.types}) == 1 else UNKNOWN


def _coalesce(call: TypedCall) -> SqlType:
    return _known(c.widest(call.types))


def _greatest(call: TypedCall) -> SqlType:
    return _known(c.widest(call.types, texts=False))


def _branches(call: TypedCall) -> SqlType:
    return _known(c.widest(call.types[1:]))


def _bytes_or_text(call: TypedCall) -> SqlType:
    first = call.type(0)
    if c.is_unknown(first) or c.is_null(first):
        return UNKNOWN
    return c.BINARY if first.this is exp.DType.BINARY else c.STRING


def _concat(call: TypedCall) -> SqlType:
    if not call.types:
        return c.STRING
    if any(c.is_unknown(t) for t in call.types):
        return UNKNOWN
    if any(t.this is exp.DType.ARRAY for t in call.types):
        return _all_equal(call)
    return c.BINARY if all(t.this is exp.DType.BINARY for t in call.types) else c.STRING


def _negative(call: TypedCall) -> SqlType:
    first = call.type(0)
    return c.DOUBLE if c.is_string(first) else first if c.is_numeric(first) else UNKNOWN


def _round(call: TypedCall) -> SqlType:
    first, digits = call.type(0), decimals.digits(call.type(0))
    if not c.is_decimal(first) or digits is None:
        return _negative(call)
    wanted = 0 if len(call.nodes) == 1 else call.number(1)
    if wanted is None:
        return UNKNOWN
    whole = digits[0] - digits[1] + 1
    if wanted < 0:
        return decimals.decimal(min(MAX_PRECISION, max(whole, 1 - wanted)), 0)
    scale = min(digits[1], wanted)
    return decimals.decimal(min(MAX_PRECISION, whole + scale), scale)


def _floor(call: TypedCall) -> SqlType:
    first, digits = call.type(0), decimals.digits(call.type(0))
    if len(call.nodes) > 1:
        return _round(call) if c.is_decimal(first) else UNKNOWN
    if c.is_decimal(first) and digits:
        precision, scale = digits
        return first if scale == 0 else decimals.decimal(precision - scale + 1, 0)
    return c.BIGINT if c.is_numeric(first) or c.is_string(first) else UNKNOWN


def _sum(call: TypedCall) -> SqlType:
    first, digits = call.type(0), decimals.digits(call.type(0))
    if c.is_decimal(first) and digits:
        return decimals.decimal(min(MAX_PRECISION, digits[0] + 10), digits[1])
    if c.is_integral(first):
        return c.BIGINT
    return c.DOUBLE if c.is_numeric(first) or c.is_string(first) else UNKNOWN


def _average(call: TypedCall) -> SqlType:
    first, digits = call.type(0), decimals.digits(call.type(0))
    if c.is_decimal(first) and digits:
        return decimals.decimal(*(min(MAX_PRECISION, d + 4) for d in digits))
    return c.DOUBLE if c.is_numeric(first) or c.is_string(first) else UNKNOWN


def _percentile(call: TypedCall) -> SqlType:
    one = len(call.types) < 2 or c.is_numeric(call.type(1))
    return c.DOUBLE if one and c.is_numeric(call.type(0)) else UNKNOWN


def _percentile_approx(call: TypedCall) -> SqlType:
    return call.type(0) if c.is_numeric(call.type(0)) and c.is_numeric(call.type(1)) else UNKNOWN


def _of_two(call: TypedCall) -> SqlType:
    return call.type(0) if len(call.types) == 2 else UNKNOWN


def _shift(call: TypedCall) -> SqlType:
    first = call.type(0)
    return c.BIGINT if first.this is exp.DType.BIGINT else c.INT if c.is_integral(first) else UNKNOWN


def _date_add(call: TypedCall) -> SqlType:
    if len(call.nodes) == 2:
        return c.DATE
    last = call.type(2)
    return last if c.is_timestamp(last) else c.TIMESTAMP if c.is_date(last) or c.is_string(last) else UNKNOWN


def _date_diff(call: TypedCall) -> SqlType:
    return c.INT if len(call.nodes) == 2 else c.BIGINT


def _keep_timestamp(call: TypedCall) -> SqlType:
    last = call.types[-1] if call.types else UNKNOWN
    fits = last.this in (exp.DType.TIMESTAMPTZ, exp.DType.DATE) or c.is_string(last)
    return c.TIMESTAMP if fits else UNKNOWN


def _lag(call: TypedCall) -> SqlType:
    default = call.type(2)
    fits = len(call.types) < 3 or c.is_null(default) or type_name(call.type(0)) == type_name(default)
    return call.type(0) if fits else UNKNOWN


def _zone(call: TypedCall) -> SqlType:
    return _keep_timestamp(TypedCall(call.nodes[:1], call.types[:1], call.body))


def date_part(part: str, source: SqlType) -> SqlType:
    """What EXTRACT(part FROM source) returns."""
    if not (c.is_date(source) or c.is_timestamp(source) or c.is_string(source)):
        return UNKNOWN
    wanted = part.upper()
    return decimals.decimal(8, 6) if wanted in _SECONDS else c.INT if wanted in _PARTS else UNKNOWN


def _date_part(call: TypedCall) -> SqlType:
    return date_part(call.text(0) or "", call.type(1))


def _nanvl(call: TypedCall) -> SqlType:
    return c.DOUBLE if any(t.this is exp.DType.DOUBLE for t in call.types) else UNKNOWN


def _schema(call: TypedCall) -> SqlType:
    """from_json and its kin: the schema is written as the columns of a table, or as a type."""
    text = call.text(1)
    if text is None:
        return UNKNOWN
    return _written(text if _ONE_TYPE.fullmatch(text) else f"struct<{text}>")


def _variant_get(call: TypedCall) -> SqlType:
    return _written("variant" if len(call.nodes) == 2 else call.text(2) or "")


def _written(text: str) -> SqlType:
    try:
        return c.spelt(sql_type(text)) if text else UNKNOWN
    except (SqlglotError, ValueError):
        return UNKNOWN


def _decode(call: TypedCall) -> SqlType:
    results = [*call.types[2::2], *(call.types[-1:] if len(call.types) % 2 == 0 else [])]
    return c.STRING if len(call.types) == 2 or all(map(c.is_string, results)) else UNKNOWN


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        [
            "any_value",
            "first",
            "first_value",
            "last",
            "last_value",
            "max",
            "min",
            "mode",
            "bit_and",
            "bit_or",
            "bit_xor",
        ],
        _same,
    ),
    **dict.fromkeys(["nth_value", "nullif", "nullifzero"], _same),
    **dict.fromkeys(["coalesce", "nvl", "ifnull"], _coalesce),
    **dict.fromkeys(["greatest", "least"], _greatest),
    **dict.fromkeys(["if", "nvl2"], _branches),
    "zeroifnull": lambda call: _known(c.wider(call.type(0), c.INT)),
    **dict.fromkeys(["lag", "lead"], _lag),
    "concat": _concat,
    **dict.fromkeys(["left", "lpad", "rpad", "overlay", "substr", "substring"], _bytes_or_text),
    **dict.fromkeys(["abs", "negative", "positive"], _negative),
    **dict.fromkeys(["round", "bround"], _round),
    **dict.fromkeys(["floor", "ceil", "ceiling"], _floor),
    **dict.fromkeys(["sum", "try_sum"], _sum),
    **dict.fromkeys(["avg", "mean", "try_avg"], _average),
    **dict.fromkeys(["percentile", "median"], _percentile),
    **dict.fromkeys(["percentile_approx", "approx_percentile"], _percentile_approx),
    **dict.fromkeys(["max_by", "min_by"], _of_two),
    **dict.fromkeys(["shiftleft", "shiftright", "shiftrightunsigned"], _shift),
    **dict.fromkeys(["date_add", "dateadd", "timestampadd"], _date_add),
    **dict.fromkeys(["datediff", "date_diff"], _date_diff),
    "date_trunc": _keep_timestamp,
    **dict.fromkeys(["from_utc_timestamp", "to_utc_timestamp"], _zone),
    **dict.fromkeys(["date_part", "datepart"], _date_part),
    "nanvl": _nanvl,
    **dict.fromkeys(["from_json", "from_csv"], _schema),
    **dict.fromkeys(["variant_get", "try_variant_get"], _variant_get),
    "decode": _decode,
    "time_bucket": lambda call: c.TIMESTAMP if call.type(1).this is exp.DType.TIMESTAMPTZ else UNKNOWN,
    "elt": lambda call: UNKNOWN if any(t.this is exp.DType.BINARY for t in call.types) else c.STRING,
}
"""The functions whose type depends on their arguments; those of arrays and maps are in `nested_types`."""

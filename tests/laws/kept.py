"""Expressions that some evaluator got wrong once, the shortest that show it. All are compared in each run."""

KEPT = [
    # the least whole number, and results that have no room
    *("abs(w_int)", "abs(w_tinyint)", "- w_smallint", "negative(w_bigint)", "- - -2147483648", "int(w_bigint)"),
    *("tinyint(w_double)", "bigint(w_dec20_0)", "round(w_tinyint, -1)", "round(w_bigint, -1)", "a_bigint DIV b_bigint"),
    *("a_dec38_10 DIV b_dec38_10", "pmod(a_int, b_int)", "pmod(a_bigint, b_bigint)", "pmod(a_tinyint, b_tinyint)"),
    # fractions
    *(
        "CAST(w_double AS BIGINT)",
        "CAST(w_float AS BIGINT)",
        "sign(w_double)",
        "round(w_double)",
        "round(w_double, -2)",
    ),
    *("exp(w_double)", "ln(w_double)", "log10(w_double)", "log2(w_int)", "log(a_double, b_double)", "atan(w_double)"),
    *("pow(a_double, b_double)", "power(a_dec18_6, b_dec18_6)", "pow(w_double, 0.1)", "pow(w_double, -3)"),
    # decimals that need more than 28 digits, or more than 128 bits
    *("a_dec20_0 / b_dec20_0", "a_dec38_10 / b_tinyint", "a_dec38_10 * b_dec38_10", "round(w_dec38_10, 12)"),
    *("round(w_dec5_2, -2)", "CAST(w_dec38_10 AS DECIMAL(38,0))", "CAST(w_dec38_10 AS DECIMAL(20,2))"),
    *(
        "CAST(a_dec20_0 / b_dec20_0 AS DECIMAL(38,2))",
        "CAST(w_dec38_10 AS BIGINT)",
        "a_dec38_10 % b_dec18_6",
        "3Y % b_dec20_0",
    ),
    *("concat(- w_dec5_2)", "concat(CAST(b_double AS DECIMAL(5,2)))"),
    # texts
    *("concat(w_dec38_10)", "CAST(w_dec38_10 AS STRING)", "CAST(w_double AS STRING)", "CAST(w_float AS STRING)"),
    *(
        "CAST(w_string AS INT)",
        "CAST(w_string AS DOUBLE)",
        "CAST(w_string AS FLOAT)",
        "CAST(w_string AS DECIMAL(20,5))",
    ),
    *("w_string ILIKE '_'", "w_string ILIKE '%s%'", "substring(w_string, -2147483648)", "upper(w_string)"),
    *("lower(w_string)", "isnan(w_string)"),
    # times
    *(
        "CAST(w_string AS DATE)",
        "CAST(w_string AS TIMESTAMP)",
        "CAST(w_string AS TIMESTAMP_NTZ)",
        "CAST(concat('121400', w_tinyint) AS TIMESTAMP)",
    ),
    *(
        "w_date + INTERVAL 1 YEAR",
        "w_ts - INTERVAL 1 MONTH",
        "add_months(w_date, 120000)",
        "add_months(w_date, -30000)",
    ),
    *("year(w_date + INTERVAL 9000 YEAR)", "CAST(w_date + INTERVAL 9000 YEAR AS STRING)", "weekofyear(w_date)"),
    *("CAST(w_ts - INTERVAL 3000 YEAR AS STRING)", "date_trunc('week', w_ts)", "date_sub(a_date, b_dec5_2)"),
    # conditions
    *("w_int IS TRUE", "w_double IS NOT FALSE", "a_int IN (b_float, w_dec5_2)", "a_string NOT LIKE b_string"),
]

"""Texts and names reach Spark as they are: nothing in them is a variable, an escape of another kind, or code."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.errors import SettingError
from millstream.mill import Mill
from millstream.spark.process.session import FIXED, SETTINGS, open_session

HOSTILE = (
    *("${env:HOME}", "${spark.app.name}", "${system:user.name}", "${HOME}", "$HOME", "${", "${a${b}}", "#{1+1}", "{}"),
    *("a'b", "'", "''", "\\", "\\\\'", "a\\'b", "\\u0041", "\\%", "\\_", "a\nb", "\t", "\x00", "\x1a", "\\N", "\\101"),
    *("`", '"', "a`b", 'a"b', "--x", "/* x */", ";", "a.b", ".", "*", "a b", "a,b", "a(b)", ":x", "?", "select", "1"),
    *("é😀", "\u200b", "\u2028", "x as y", "${env:HOME}'", "' || reflect('java.lang.System', 'getenv') || '"),
)
SIGNS = "ab$'\\`\"{}:.*%_u04-/;\n\t😀"


def literal(text: str) -> str:
    """A text as it is written in ESL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def name(text: str) -> str:
    return "`" + text.replace("`", "``") + "`"


def drawn(count: int) -> list[str]:
    chance = random.Random(1)
    return ["".join(chance.choices(SIGNS, k=chance.randint(1, 12))) for _ in range(count)]


@pytest.mark.spark
def test_texts_are_what_they_were(mill: Mill) -> None:
    texts = [*HOSTILE, *drawn(200)]
    items = ", ".join(f"{literal(t)} AS c{i}" for i, t in enumerate(texts))
    (row,) = mill.execute(f"SELECT {items};")[0].table.to_pylist()
    assert list(row.values()) == texts


@pytest.mark.spark
def test_names_are_what_they_were(mill: Mill, tmp_path: Path) -> None:
    names = list({t.lower(): t for t in [*HOSTILE, *drawn(60)]}.values())
    (tmp_path / "t.json").write_text('{"x": 3}\n')
    inner = ", ".join(f"x + {i} AS {name(n)}" for i, n in enumerate(names))
    mill.execute(f"CREATE TABLE t (x INT) SOURCE 'json:t.json'; CREATE TABLE wide AS SELECT {inner} FROM t;")
    own = ", ".join(f"{name(n)} * 1 AS {name(n)}" for n in names)
    found = mill.execute(f"""
        SELECT * FROM wide; SELECT {own} FROM wide WHERE {name(names[0])} > 0 ORDER BY {name(names[0])};
        SELECT {", ".join(f"max({name(n)}) AS {name(n)}" for n in names)} FROM wide GROUP BY {name(names[0])};
    """)
    for answer in found:
        assert answer.table.to_pylist() == [{n: 3 + i for i, n in enumerate(names)}]


def test_nobody_changes_what_texts_mean() -> None:
    assert {s.key: s.value for s in SETTINGS}["spark.sql.variable.substitute"] == "false"
    for fixed in FIXED:
        other = {"true": "False", "false": "True", "UTC": "Europe/Berlin"}.get(fixed.value, "TIMESTAMP_NTZ")
        with pytest.raises(SettingError, match=f"{fixed.key} is always {fixed.value} here: otherwise "):
            open_session(conf={f" {fixed.key.upper()}": other})


@pytest.mark.spark
def test_the_session_has_what_texts_rely_on(spark: SparkSession) -> None:
    assert {fixed.key: spark.conf.get(fixed.key).lower() for fixed in FIXED} == {f.key: f.value.lower() for f in FIXED}


@pytest.mark.spark
def test_names_pass_through_stages(run: Callable[[str], Mill], tmp_path: Path) -> None:
    """Frames and lookups carry the columns of streams and tables from Spark to Python."""
    (tmp_path / "in").mkdir()
    rows = [{"a.t": f"2024-01-01T00:00:0{i}Z", "a`k": i % 2, "a.v": i} for i in range(4)]
    (tmp_path / "in" / "a.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "t.json").write_text('{"k.k": 1, "n`n": "one"}\n')
    mill = run("""
        CREATE STREAM s (`a.t` TIMESTAMP, `a``k` INT, `a.v` INT) ORDER BY `a.t` SOURCE 'json:in';
        CREATE TABLE t (`k.k` INT, `n``n` STRING) SOURCE 'json:t.json';
        CREATE QUERY framed AS
          SELECT `a.v`, sum(`a.v`) OVER (PARTITION BY `a``k` ROWS 1 PRECEDING) AS `s.s` FROM s;
        CREATE QUERY joined AS SELECT `n``n`, count(*) [RANGE 10 SECONDS, WA `a.t`] AS `c.c` FROM s
          JOIN t ON `a``k` = `k.k` GROUP BY `n``n`;
    """)
    framed = mill.query("framed").to_arrow().sort_by("a.v").to_pylist()
    assert framed == [{"a.v": v, "s.s": s} for v, s in ((0, 0), (1, 1), (2, 2), (3, 4))]
    assert mill.query("joined").to_arrow().to_pylist() == [{"n`n": "one", "c.c": 2}]

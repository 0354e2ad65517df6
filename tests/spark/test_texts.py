"""Texts and names reach Spark as they are: nothing in them is a variable, an escape of another kind, or code."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from millstream.errors import SettingError
from millstream.mill import Mill
from millstream.spark.session import FIXED, SETTINGS, open_session

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


def test_nobody_switches_on_what_changes_texts() -> None:
    assert {s.key: s.value for s in SETTINGS}["spark.sql.variable.substitute"] == "false"
    for fixed in FIXED:
        with pytest.raises(SettingError, match=f"{fixed.key} is always false here: otherwise "):
            open_session(conf={f" {fixed.key.upper()}": "True"})

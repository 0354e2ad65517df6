"""Random aggregates: mostly sensible text, with a good share of mistakes."""

from __future__ import annotations

import random

TYPES = ("INT", "BIGINT", "DOUBLE", "REAL", "STRING", "BOOLEAN", "DECIMAL(8,2)", "TIMESTAMP", "DATE", "SMALLINT")
LITERALS = (
    *("0", "1", "-3", "2147483647", "9223372036854775807", "1.5", "1e300", "NULL", "TRUE", "'a'", "''", "'2024-01-01'"),
    *("TIMESTAMP '2024-01-01 00:00:00'", "INTERVAL 1 DAY", "INTERVAL 2 MONTHS", "'%'", "0.1", "DATE '2024-02-29'"),
)
UNARY = (
    *("abs", "sqrt", "floor", "ceil", "round", "ln", "exp", "upper", "lower", "length", "trim", "sign", "year", "day"),
    *("unix_micros", "isnull", "negative", "reverse", "rand", "nosuch", "array", "hour", "isnan", "log2"),
)
BINARY = ("power", "greatest", "least", "coalesce", "nullif", "concat", "mod", "pmod", "substr", "add_months", "instr")
SIGNS = ("+", "-", "*", "/", "%", "div", "||", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "LIKE", "<=>", "&", "|")
AGGREGATES = ("count", "sum", "avg", "min", "max", "median", "first", "stddev", "f", "string_agg", "var_pop", "mode")
CASTS = ("INT", "DOUBLE", "STRING", "BOOLEAN", "TIMESTAMP", "DECIMAL(10,3)", "TINYINT", "DATE")
JUNK = (
    "{",
    "}",
    ";",
    "(",
    ")",
    ",",
    "'",
    "SELECT",
    "FROM",
    ":",
    "oldest()",
    "inwindow",
    "RETURN",
    "--",
    '"',
    "WHERE",
    "AS",
)


class Author:
    """Writes the text of one aggregate."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.wild = self.chance.random() < 0.4
        self.window = self.chance.random() < 0.4
        self.parameters = self._columns("p")
        self.tables = {f"t{i}": self._columns("c") for i in range(self.chance.randrange(1, 3))}
        self.result = self._columns("r")

    def _columns(self, prefix: str) -> list[tuple[str, str]]:
        count = self.chance.choices([1, 2, 3], [5, 3, 1])[0]
        kinds = TYPES[:3] if self.chance.random() < 0.6 else TYPES
        return [(f"{prefix}{i}", self.chance.choice(kinds)) for i in range(count)]

    def text(self) -> str:
        """The whole statement; one in ten is damaged."""
        declared = " ".join(
            f"TABLE {name} ({_schema(columns)}){self._first_rows(columns)};" for name, columns in self.tables.items()
        )
        words = "INITIALIZE: ITERATE:" if self.chance.random() < 0.5 else ""
        per_tuple = (
            f"{words} {{ {self._body()} }}"
            if words
            else f"INITIALIZE: {{ {self._body()} }} ITERATE: {{ {self._body()} }}"
        )
        terminate = f"TERMINATE: {{ {self._body()} }}" if self.chance.random() < 0.5 else ""
        expire = f"EXPIRE: {{ {self._body()} }}" if self.window and self.chance.random() < 0.6 else ""
        kind = "WINDOW AGGREGATE" if self.window else "AGGREGATE"
        text = (
            f"CREATE {kind} f ({_schema(self.parameters)}) : ({_schema(self.result)}) "
            f"{{ {declared} {per_tuple} {terminate} {expire} }}"
        )
        return self._damaged(text) if self.wild and self.chance.random() < 0.3 else text

    def _damaged(self, text: str) -> str:
        words = text.split(" ")
        for _ in range(self.chance.randrange(1, 4)):
            place = self.chance.randrange(1, len(words))  # a comment at the start would leave no statement
            match self.chance.randrange(3):
                case 0:
                    del words[place]
                case 1:
                    words.insert(place, self.chance.choice(JUNK))
                case _:
                    words[place] = self.chance.choice(JUNK)
        return " ".join(words)

    def _first_rows(self, columns: list[tuple[str, str]]) -> str:
        if self.chance.random() > 0.3:
            return ""
        rows = self.chance.choice([1, 1, 2, 3])
        return " AS VALUES " + ", ".join(f"({', '.join(self._literal(t) for _, t in columns)})" for _ in range(rows))

    def _literal(self, type_: str) -> str:
        if self.chance.random() < 0.05:
            return self.chance.choice(LITERALS)
        if type_ == "STRING":
            return self.chance.choice(["'a'", "'b'", "NULL"])
        if type_ == "BOOLEAN":
            return self.chance.choice(["TRUE", "FALSE", "NULL"])
        if type_ == "TIMESTAMP":
            return "TIMESTAMP '2024-01-01 00:00:00'"
        if type_ == "DATE":
            return "DATE '2024-01-01'"
        return self.chance.choice(["0", "1", "2", "-1", "NULL", "100"])

    # -- statements ----------------------------------------------------------------------------------------

    def _body(self) -> str:
        statements = [self._statement() for _ in range(self.chance.randrange(0, 4))]
        statements.append(self._insert("RETURN", self.result))
        return " ".join(f"{s};" for s in statements)

    def _statement(self) -> str:
        name = self.chance.choice([*self.tables, *(["inwindow"] if self.window else [])])
        columns = self.tables.get(name, self.parameters)
        match self.chance.randrange(2 if name == "inwindow" and not self.wild else 3):
            case 0:
                changed = self.chance.choice(columns)
                return f"UPDATE {name} SET {changed[0]} = {self._of(changed[1], columns)}{self._where(columns)}"
            case 1:
                return f"DELETE FROM {name}{self._where(columns)}"
            case _:
                return self._insert(name, columns)

    def _insert(self, name: str, columns: list[tuple[str, str]]) -> str:
        if self.chance.random() < 0.5:
            return f"INSERT INTO {name} VALUES ({', '.join(self._of(t, []) for _, t in columns)}){self._where([])}"
        return f"INSERT INTO {name} {self._select([t for _, t in columns])}"

    def _where(self, columns: list[tuple[str, str]]) -> str:
        return f" WHERE {self._condition(columns)}" if self.chance.random() < 0.6 else ""

    def _select(self, types: list[str], depth: int = 2) -> str:
        table = self.chance.choice([*self.tables, *(["inwindow"] if self.window else []), "item"])
        own = self.tables.get(table, self.parameters if table == "inwindow" else [("category", "INT")])
        columns = [(f"a.{n}", t) for n, t in own]
        source = f"{table} AS a"
        if self.chance.random() < 0.25:
            other = self.chance.choice(list(self.tables))
            columns += [(f"b.{n}", t) for n, t in self.tables[other]]
            word = self.chance.choice([",", "JOIN", "LEFT JOIN"])
            source += f", {other} AS b" if word == "," else f" {word} {other} AS b ON {self._condition(columns, depth)}"
        where = f" WHERE {self._condition(columns, depth)}" if self.chance.random() < 0.5 else ""
        if self.chance.random() < 0.3:
            items = [self._of(t, [(f"{self._aggregate()}({n})", k) for n, k in columns], depth) for t in types]
            group = f" GROUP BY {self.chance.choice(columns)[0]}" if self.chance.random() < 0.4 else ""
            return f"SELECT {', '.join(items)} FROM {source}{where}{group}"
        items = [self._of(t, columns, depth) for t in types]
        tail = self.chance.choice(["", "", " ORDER BY 1", " LIMIT 2", " ORDER BY 1 DESC LIMIT 1"])
        distinct = "DISTINCT " if self.chance.random() < 0.1 else ""
        return f"SELECT {distinct}{', '.join(items)} FROM {source}{where}{tail}"

    # -- expressions ---------------------------------------------------------------------------------------

    def _of(self, type_: str, columns: list[tuple[str, str]], depth: int = 2) -> str:
        """An expression, most of the time of a type."""
        known = [n for n, t in [*columns, *[(f"f.{n}", t) for n, t in self.parameters]] if t == type_]
        luck = self.chance.random()
        if luck < 0.1 and self.wild:
            return self._any(columns, depth)
        if luck < 0.2 and self.wild:
            return f"CAST({self._any(columns, depth)} AS {type_})"
        if luck < 0.2 and depth > 0 and type_ in {"INT", "BIGINT", "DOUBLE"}:
            return self._number(columns, depth - 1, type_)
        if luck < 0.3 and type_ in {"INT", "BIGINT", "DOUBLE"} and depth > 0:
            sign = self.chance.choice("+-*")
            return f"({self._of(type_, columns, depth - 1)} {sign} {self._of(type_, columns, depth - 1)})"
        if luck < 0.4 and depth > 0:
            return f"(SELECT max({self._of(type_, [], depth - 1)}) FROM {self.chance.choice(list(self.tables))})"
        return self.chance.choice(known) if known and self.chance.random() < 0.8 else self._literal(type_)

    def _number(self, columns: list[tuple[str, str]], depth: int, type_: str) -> str:
        inner, other = (self._of(type_, columns, depth) for _ in range(2))
        return self.chance.choice(
            [
                f"CAST({inner} / {other} AS {type_})",
                f"coalesce({inner}, {other})",
                f"greatest({inner}, {other})",
                f"abs({inner})",
                f"CASE WHEN {self._condition(columns, depth)} THEN {inner} ELSE {other} END",
                f"CAST(CAST({inner} AS STRING) AS {type_})",
                f"({inner} % {other})",
                f"round({inner})",
                f"nullif({inner}, {other})",
                f"length(CAST({inner} AS STRING))",
            ]
        )

    def _condition(self, columns: list[tuple[str, str]], depth: int = 2) -> str:
        kind = self.chance.choice(self.parameters)[1]
        left, right = self._of(kind, columns, depth - 1), self._of(kind, columns, depth - 1)
        kinds = [0, 0, 0, 1, 2, 2, 3, 4, 5, *([6] if self.wild else [])]
        match self.chance.choice(kinds) if depth > 0 else 0:
            case 1:
                return f"NOT {self._condition(columns, depth - 1)}"
            case 2:
                word = self.chance.choice(["AND", "OR"])
                return f"({self._condition(columns, depth - 1)} {word} {self._condition(columns, depth - 1)})"
            case 3:
                return f"EXISTS ({self._select(['INT'], depth - 1)})"
            case 4:
                return f"{left} IN ({self._select([kind], depth - 1)})"
            case 5:
                return f"{left} IS NOT NULL"
            case 6:
                return self._any(columns, depth - 1)
        return f"{left} {self.chance.choice(['=', '<', '>=', '<>', '='])} {right}"

    def _any(self, columns: list[tuple[str, str]], depth: int) -> str:
        names = [n for n, _ in [*columns, *self.parameters]]
        if depth <= 0 or self.chance.random() < 0.3:
            return self.chance.choice([*names, *LITERALS, *(["oldest()", "oldest().p0"] if self.window else [])])
        inner, other = self._any(columns, depth - 1), self._any(columns, depth - 1)
        match self.chance.randrange(6):
            case 0:
                return f"{self.chance.choice(UNARY)}({inner})"
            case 1:
                return f"{self.chance.choice(BINARY)}({inner}, {other})"
            case 2:
                return f"CASE WHEN {inner} THEN {other} ELSE {inner} END"
            case 3:
                return f"CAST({inner} AS {self.chance.choice(CASTS)})"
            case 4:
                return f"({self._select(['INT'], depth - 1)})"
        return f"({inner} {self.chance.choice(SIGNS)} {other})"

    def _aggregate(self) -> str:
        return self.chance.choice(AGGREGATES if self.wild else ("min", "max", "first", "max", "sum"))

    def row(self) -> tuple[object, ...]:
        """A tuple of the parameters' types."""
        return tuple(_sample(t, self.chance) for _, t in self.parameters)


def _schema(columns: list[tuple[str, str]]) -> str:
    return ", ".join(f"{n} {t}" for n, t in columns)


def _sample(type_: str, chance: random.Random) -> object:
    from decimal import Decimal

    if chance.random() < 0.15:
        return None
    match type_:
        case "DOUBLE" | "REAL":
            return chance.choice([0.0, 1.5, -2.0, float("nan"), float("inf"), 3.0])
        case "STRING":
            return chance.choice(["", "a", "b", "12", "2024-01-01"])
        case "BOOLEAN":
            return chance.random() < 0.5
        case "DECIMAL(8,2)":
            return Decimal(chance.randrange(-999, 999)) / 100
        case "TIMESTAMP":
            return chance.randrange(10**15)
    return chance.choice([0, 1, 2, -1, 5, 100])

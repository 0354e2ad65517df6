"""Queries with state as drawn by property tests: what they mean apart from how they are written."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from hypothesis import strategies as st

KEYS = ("k", "g", "v + 1")
CALLS = ("sum({v})", "max({v})", "max({w})", "count({w})", "quantile({v}, 0.5)", "quantile({v}, 0.9)", "first({g})")
FILTERS = ("", " FILTER (WHERE {v} > 2)", " FILTER (WHERE {w} < 3)")
CONDITIONS = ("{v} > 1", "{w} < 9", "{g} = 'a'", "{v} > 1 OR {w} > 2")
WINDOWS = ("RANGE 10 SECONDS", "RANGE 20 SECONDS", "RANGE 20 SECONDS, SLIDE 5 SECONDS", "RANGE ALL, SLIDE 1 MINUTE")
FRAMES = ("ROWS 3 PRECEDING", "ROWS 4 PRECEDING", "RANGE 3 SECONDS PRECEDING")
CARRIED = ("v", "w", "at")
KINDS = ("JOIN", "LEFT JOIN", "FULL JOIN")
REACHES = (1, 2)


@dataclass(frozen=True)
class Meaning:
    """What a query computes: its state follows from this alone. `shape` is one of window, frame and join."""

    shape: str
    keys: frozenset[str]
    calls: frozenset[tuple[str, str]]
    conditions: frozenset[str]
    window: str
    frame: str
    carried: frozenset[str]
    kind: str
    reach: int

    @property
    def state(self) -> tuple[object, ...]:
        """The parts that matter to a query of this shape."""
        match self.shape:
            case "window":
                return (self.shape, self.keys, self.calls, self.conditions, self.window)
            case "frame":
                return (self.shape, self.keys, self.calls, self.conditions, self.frame, self.carried)
        return (self.shape, self.conditions, self.carried, self.kind, self.reach)


def _some(values: tuple[Any, ...], least: int = 0) -> st.SearchStrategy[frozenset[Any]]:
    return st.frozensets(st.sampled_from(values), min_size=least, max_size=3)


PARTS: dict[str, st.SearchStrategy[Any]] = {
    "shape": st.sampled_from(["window", "frame", "join"]),
    "keys": _some(KEYS),
    "calls": st.frozensets(st.tuples(st.sampled_from(CALLS), st.sampled_from(FILTERS)), min_size=1, max_size=3),
    "conditions": _some(CONDITIONS),
    "window": st.sampled_from(WINDOWS),
    "frame": st.sampled_from(FRAMES),
    "carried": _some(CARRIED, 1),
    "kind": st.sampled_from(KINDS),
    "reach": st.sampled_from(REACHES),
}
MEANINGS = st.builds(Meaning, **PARTS)


@st.composite
def mutations(draw: st.DrawFn, meaning: Meaning) -> Meaning:
    """The same with one part drawn anew."""
    name = draw(st.sampled_from([field.name for field in fields(meaning)]))
    return replace(meaning, **{name: draw(PARTS[name])})


@st.composite
def spellings(draw: st.DrawFn, meaning: Meaning) -> str:
    """One of the ways to write a query."""
    alias = draw(st.sampled_from(["s", "t", "Other"]))

    def column(name: str) -> str:
        written = draw(st.sampled_from([name, name.upper()]))
        written = f"{draw(st.sampled_from([alias, alias.upper()]))}.{written}" if draw(st.booleans()) else written
        return f"({written})" if draw(st.booleans()) else written

    def spelt(text: str) -> str:
        return text.format(**{name: column(name) for name in ("k", "g", "v", "w")})

    def mixed(parts: frozenset[str]) -> list[str]:
        return draw(st.permutations(sorted(parts)))

    def named(parts: list[str]) -> str:
        return ", ".join(f"{part} AS {draw(st.sampled_from('abc'))}{place}" for place, part in enumerate(parts))

    keys = [key.replace("v + 1", draw(st.sampled_from(["v + 1", "1 + v", "(V) + 1"]))) for key in mixed(meaning.keys)]
    calls = [(spelt(call), spelt(only)) for call, only in draw(st.permutations(sorted(meaning.calls)))]
    again = draw(st.sampled_from([[], calls[:1]]))
    conditions = [f"({spelt(condition)})" for condition in mixed(meaning.conditions)]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    source = draw(st.sampled_from([f"s AS {alias}", f"(SELECT g, k, at, W, v, ts FROM s) AS {alias}"]))
    match meaning.shape:
        case "window":
            answers = named([f"{call}{only} [{meaning.window}]" for call, only in [*calls, *again]])
            having = draw(st.sampled_from(["", f" HAVING {calls[0][0]}{calls[0][1]} IS NULL"]))
            groups = f" GROUP BY {', '.join(keys)}" if keys else ""
            return f"SELECT {answers} FROM {source}{where}{groups}{having}"
        case "frame":
            partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
            answers = [f"{call}{only} OVER ({partition}{meaning.frame})" for call, only in [*calls, *again]]
            return f"SELECT {named([*answers, *mixed(meaning.carried)])} FROM {source}{where}"
    equal = draw(st.sampled_from([f"{alias}.k = o.k", f"o.k = {alias}.K"]))
    carried = [f"{alias}.{name}" for name in mixed(meaning.carried)]
    inner = f"(SELECT * FROM s{where.replace(f'{alias}.', '').replace(f'{alias.upper()}.', '')}) AS {alias}"
    reach = f"o.tr BETWEEN {alias}.ts AND {alias}.ts + INTERVAL {meaning.reach} SECOND"
    return f"SELECT {named([*carried, 'o.x'])} FROM {inner} {meaning.kind} r AS o ON {equal} AND {reach}"

"""Changed statements are refused, or mean something else: no word is passed over, and Spark has nothing to refuse.

MILLSTREAM_FUZZ=100000 tries that many, and shows Spark all that are accepted; MILLSTREAM_FUZZ_SEED begins elsewhere.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from millstream.catalog.address import Address
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import DerivedStream, Query, Stream, Table, View
from millstream.catalog.select import Select
from millstream.connectors.places.facts import facts_of
from millstream.connectors.places.query_place import QueryPlace
from millstream.connectors.writing.text import readable as as_read
from millstream.errors import EslError
from millstream.language.binder import bind
from millstream.language.bound import (
    Bound,
    Change,
    Define,
    Insertion,
    Measure,
    OpenView,
    Plan,
    Registering,
    Replace,
    Rows,
    Start,
    Store,
)
from millstream.language.parser import parse
from millstream.language.trial.dry_run import dry_run
from millstream.plan.build import build
from millstream.plan.passes import apply_passes
from millstream.plan.physical import physical
from millstream.spark.host import Host
from millstream.spark.lower.lowering import lower
from millstream.spark.lower.try_calls import try_all
from tests.language.meanings import Case, learnt, outcome
from tests.language.mutations import Mutator, corpus, statements_of_the_language

TRIED = int(os.environ.get("MILLSTREAM_FUZZ", "300"))
BEGIN = int(os.environ.get("MILLSTREAM_FUZZ_SEED", "0"))

SHARE = 0.4
"""How many are made of the file with every clause: all others are SELECTs, for the most part."""

LEFT_TO_SPARK: dict[str, str] = {}
"""What only Spark finds out, by the class of its error, and why."""


class Accepted(NamedTuple):
    """A changed statement that was accepted: what it asks of Spark, and what it reads."""

    text: str
    bound: Bound
    select: Select
    catalog: Catalog


def drawn() -> Iterator[tuple[int, Case, str]]:
    """Statements of the corpus with a change in each."""
    cases, each = corpus(whole=TRIED > 1000), statements_of_the_language()
    for seed in range(BEGIN, BEGIN + TRIED):
        mutator = Mutator(seed, cases)
        case = mutator.chance.choice(each if mutator.chance.random() < SHARE else cases)
        yield seed, case, mutator.mutated(case)


@cache
def ends() -> list[tuple[int, Case, str, str, str]]:
    """How each of them ends, and what there is to say of it."""
    meant: dict[str, list[object]] = {}
    found = []
    for seed, case, text in drawn():
        if case.text not in meant:
            meant[case.text] = learnt(case.text, case.catalog)
        try:
            ended, details = outcome(text, case, meant[case.text])
        except Exception as problem:
            ended, details = "crash", f"{text}\n{problem!r}"
        found.append((seed, case, text, ended, details))
    return found


def test_no_word_is_passed_over() -> None:
    counts = Counter(ended for *_, ended, _ in ends())
    good = {"refused", "changed", "same"}
    wrong = [f"seed {seed} is {ended}: {details}" for seed, _, _, ended, details in ends() if ended not in good]
    assert not wrong, "\n\n".join(wrong)
    # Enough of them must pass, or nothing is tried.
    assert counts["changed"] > TRIED / 100, counts


@pytest.mark.spark
def test_spark_refuses_nothing_that_is_accepted(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    logs = tmp_path / "logs"
    host = Host(spark, tmp_path, logs.joinpath, history_of=logs.joinpath, registrations=tmp_path / "registrations")
    refused = []
    cases = {text: case for _, case, text, ended, _ in ends() if ended in {"changed", "same"}}
    shown = [found for text, case in cases.items() for found in accepted(text, readable(case.catalog))]
    for found in shown:
        try:
            planned(found, host)
        except EslError:
            continue  # told as by the binder, before anything is done
        except Exception as problem:
            name = re.search(r"\[([A-Z_.0-9]+)\]", str(problem))
            if (name[1] if name else "") not in LEFT_TO_SPARK:
                refused.append(f"{found.text}\n{type(problem).__name__}: {str(problem)[:600]}")
    assert not refused, f"{len(refused)} of {len(shown)}\n\n" + "\n\n".join(refused)
    assert shown


def planned(found: Accepted, host: Host) -> None:
    """Have Spark make a plan of what a statement asks for, as for a query that is to start; nothing runs."""
    try_all(host.spark, [(found.bound, found.text)])
    place = QueryPlace(host.base, "query", fresh=True)
    host = host if found.select.bounded else replace(host, place=place)
    plan = apply_passes(build(found.select), found.catalog)
    frame = lower(physical(plan, replace(facts_of(host.base, arrow=False), set_buckets=1)), host)
    to_arrow_schema(as_read(frame).schema, timezone="UTC")
    optimized(frame, found.select.bounded)


def optimized(frame: DataFrame, bounded: bool) -> None:
    """What Spark does before a first batch: it looks for what streams cannot do, and computes constants."""
    session = frame.sparkSession
    jvm = session.sparkContext._jvm
    analyzed = frame._jdf.queryExecution().analyzed()
    if not bounded:
        mode = jvm.org.apache.spark.sql.streaming.OutputMode.Append()
        jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker.checkForStreaming(analyzed, mode)
    session._jsparkSession.sessionState().optimizer().execute(analyzed)


def accepted(text: str, catalog: Catalog) -> Iterator[Accepted]:
    """The SELECTs of a text that binds, each with what it reads."""
    for statement in parse(text):
        bound = bind(statement, catalog)
        yield from (Accepted(text, bound, select, readable(catalog, fed=True)) for select in _selects(bound))
        dry_run(bound, catalog)


def _selects(bound: Bound) -> list[Select]:
    """What Spark would have to plan."""
    match bound:
        case Replace(new=new):
            return _of(new)
        case Rows(select=asked) | Store(select=asked) | Change(select=asked) | Insertion(select=Select() as asked):
            return _of(asked)
        case Plan(asked=asked) | Measure(asked=asked) | Registering(rows=Select() as asked):
            return _of(asked)
        case Insertion(rows=rows):
            return [Select(None, row, None, bounded=True) for row in rows]
        case Start(query=asked) | Define(definition=asked) | OpenView(view=View(query=asked)):
            return _of(asked)
    return []


def _of(asked: object) -> list[Select]:
    match asked:
        case Select():
            return [asked]
        case Query(select=select) | DerivedStream(select=select):
            return [select]
    return []


def readable(catalog: Catalog, fed: bool = False) -> Catalog:
    """The catalog over sources that are there: an empty folder, also for streams that are `fed` by statements."""
    made = Catalog()
    for definition in catalog:
        if isinstance(definition, Stream | Table) and (fed or definition.source is not None):
            made.add(replace(definition, source=Address("json", "empty"), options={}))
        else:
            made.add(definition)
    return made

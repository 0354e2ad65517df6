"""Changed statements are refused, or mean something else: no word is passed over, and Spark has nothing to refuse.

MILLSTREAM_FUZZ=100000 tries that many, and gives each hundredth to Spark; MILLSTREAM_FUZZ_SEED begins elsewhere.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from millstream.catalog.address import Address
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import DerivedStream, Select, Stream, Table
from millstream.errors import EslError
from millstream.language.bind import Bound, Define, Plan, Rows, Start, Store, bind
from millstream.language.parser import parse
from millstream.language.trial import pretend
from millstream.plan.build import build
from millstream.plan.passes import apply_passes
from millstream.spark.host import Host
from millstream.spark.lowering import lower
from tests.language.mutations import Case, Mutator, corpus, learnt, outcome, snapshot

TRIED = int(os.environ.get("MILLSTREAM_FUZZ", "300"))
BEGIN = int(os.environ.get("MILLSTREAM_FUZZ_SEED", "0"))
SHOWN_TO_SPARK = max(8, TRIED // 100)

LEFT_TO_SPARK: dict[str, str] = {}
"""What only Spark finds out, by the class of its error, and why."""


def drawn() -> Iterator[tuple[int, Case, str]]:
    """Statements of the corpus with a change in each."""
    cases = corpus(whole=TRIED > 1000)
    for seed in range(BEGIN, BEGIN + TRIED):
        mutator = Mutator(seed, cases)
        case = mutator.chance.choice(cases)
        yield seed, case, mutator.mutated(case)


def test_no_word_is_passed_over() -> None:
    meant: dict[str, list[object]] = {}
    counts: Counter[str] = Counter()
    wrong = []
    for seed, case, text in drawn():
        if case.text not in meant:
            meant[case.text] = learnt(case.text, case.catalog)
        try:
            ended, details = outcome(text, case, meant[case.text])
        except Exception as problem:
            raise AssertionError(f"seed {seed}: {text}") from problem
        counts[ended] += 1
        if ended not in {"refused", "changed", "same"}:
            wrong.append(f"seed {seed} is {ended}: {details}")
    assert not wrong, "\n\n".join(wrong)
    # Enough of them must pass, or nothing is tried.
    assert counts["changed"] > TRIED / 100, counts


@pytest.mark.spark
def test_spark_refuses_nothing_that_is_accepted(spark: SparkSession, tmp_path: Path) -> None:
    host = Host(spark, tmp_path, lambda name: tmp_path / name, direct=False)
    refused = []
    shown = 0
    for seed, case, text in drawn():
        if shown == SHOWN_TO_SPARK:
            break
        for select, catalog in accepted(text, readable(case.catalog, tmp_path)):
            shown += 1
            try:
                lower(apply_passes(build(select), catalog), host)
            except AnalysisException as problem:
                found = re.search(r"\[([A-Z_.0-9]+)\]", str(problem))
                if (found[1] if found else "") not in LEFT_TO_SPARK:
                    refused.append(f"seed {seed}: {text}\n{str(problem)[:600]}")
    assert not refused, "\n\n".join(refused)


def accepted(text: str, catalog: Catalog) -> Iterator[tuple[Select, Catalog]]:
    """The SELECTs of a text that binds, each with what it reads."""
    try:
        for statement in parse(text):
            bound = bind(statement, catalog)
            if select := _select(bound):
                yield select, snapshot(catalog)
            pretend(bound, catalog)
    except EslError:
        return


def _select(bound: Bound) -> Select | None:
    match bound:
        case Rows(select=select) | Store(select=select) | Plan(asked=Select() as select):
            return select
        case Start(query=query):
            return query.select
        case Define(definition=DerivedStream(select=select)):
            return select
    return None


def readable(catalog: Catalog, folder: Path) -> Catalog:
    """The catalog over sources that are there: an empty folder."""
    (folder / "empty").mkdir(exist_ok=True)
    made = Catalog()
    for definition in catalog:
        if isinstance(definition, Stream | Table):
            made.add(replace(definition, source=Address("json", str(folder / "empty")), options={}))
        else:
            made.add(definition)
    return made

"""`millstream explain SCRIPT`: how each query of a script would run, or with --analyze, what its steps do."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.catalog.catalog import Catalog
from millstream.cli.common import add_spark_arguments, read_script, spark_conf
from millstream.errors import SettingError, suggest

if TYPE_CHECKING:
    from millstream.mill import Mill
    from millstream.mill.reports.analysis import Analysis


def add_arguments(commands: Any) -> None:
    """The arguments of this sub-command."""
    parser = commands.add_parser(
        "explain",
        help="show how the queries of a script would run",
        description=__doc__,
        epilog="Needs no Spark, unless with --analyze.",
    )
    parser.add_argument("script", type=Path, metavar="SCRIPT", help="a file of ESL statements")
    parser.add_argument("query", nargs="?", metavar="QUERY", help="only this query or derived stream")
    parser.add_argument("--json", action="store_true", help="one JSON object per query")
    parser.add_argument(
        "--analyze",
        action="store_true",
        help="run each query over what is there, and tell what its steps did; sinks are not written to",
    )
    add_spark_arguments(parser, checkpoint=False)
    parser.set_defaults(command=explain)


def explain(arguments: argparse.Namespace) -> int:
    """Print the plans."""
    from millstream.connectors.places.facts import expected_tasks

    text = read_script(arguments.script)
    tasks = expected_tasks(arguments.master, spark_conf(arguments.conf))
    plans = script_plans(text, arguments.script.parent, tasks)
    if arguments.query:
        chosen = {n: p for n, p in plans.items() if n.lower() == arguments.query.lower()}
        if not chosen:
            raise SettingError(
                f"{arguments.script} has no query '{arguments.query}': {suggest(arguments.query, plans)}"
            )
        plans = chosen
    if arguments.analyze:
        return _analyze(arguments, text, plans)
    for name, (written, plan) in plans.items():
        if arguments.json:
            print(json.dumps({"query": name, "text": written, "plan": plan.splitlines()}))
        else:
            print(f"{name}: {written}\n{plan}\n")
    return 0


def _analyze(arguments: argparse.Namespace, text: str, chosen: Mapping[str, tuple[str, str]]) -> int:
    from millstream.mill import connect

    base, conf = arguments.script.absolute().parent, spark_conf(arguments.conf)
    with connect(master=arguments.master, base=base, once=True, conf=conf) as mill:
        for name, analysis in _analyses(mill, text, chosen):
            written = chosen[name][0]
            if arguments.json:
                lines = analysis.text.splitlines()
                print(json.dumps({"query": name, "text": written, "plan": lines, "steps": analysis.steps}))
            else:
                print(f"{name}: {written}\n{analysis.text}\n")
    return 0


def _analyses(mill: Mill, text: str, chosen: Mapping[str, object]) -> Iterator[tuple[str, Analysis]]:
    """The chosen queries of a script, one by one; what they stand on is defined for them."""
    from millstream.catalog.definitions import DerivedStream
    from millstream.language.binder import bind
    from millstream.language.bound import Assignment, Define, Measure, Plan, Removal, Rows, Start, Store
    from millstream.language.parser import statements

    mill.try_out(mill.ready(text), text)
    for number, statement in enumerate(statements(text), 1):
        match bind(statement, mill.catalog):
            case Start(query=query):
                if query.name in chosen:
                    yield query.name, mill.analyze(query)
                mill.catalog.add(query)
            case Rows(select=asked) | Plan(asked=asked) | Measure(asked=asked):
                if (name := f"statement {number}") in chosen:
                    yield name, mill.analyze(asked)
            case Define(definition=DerivedStream() as derived):
                mill.execute(statement.own_text)
                if derived.name in chosen:
                    yield derived.name, mill.analyze(derived.select)
            case Define() | Store() | Assignment() | Removal():
                mill.execute(statement.own_text)


def script_plans(text: str, base: Path, tasks: int | None = None) -> dict[str, tuple[str, str]]:
    """Every query and derived stream of a script, with its text and its plan, by the settings of the script."""
    from millstream.catalog.definitions import DerivedStream, Query
    from millstream.catalog.select import Select
    from millstream.catalog.settings import Settings
    from millstream.connectors.places.facts import facts_of
    from millstream.language.binder import bind
    from millstream.language.bound import Assignment, Define, Measure, Plan, Rows, Start
    from millstream.language.parser import statements
    from millstream.language.trial.dry_run import dry_run
    from millstream.plan.build import build
    from millstream.plan.explain import explain as explain_plan
    from millstream.plan.passes import apply_passes
    from millstream.plan.physical import physical

    catalog = Catalog()
    settings = Settings()
    plans: dict[str, tuple[str, str]] = {}

    def add(name: str, written: str, asked: Select | Query) -> None:
        facts = replace(facts_of(base.absolute(), settings.direct), tasks=tasks, set_buckets=settings.buckets)
        plan = physical(apply_passes(build(asked), catalog), facts)
        plans[name] = (" ".join(written.split()), explain_plan(plan))

    for number, statement in enumerate(statements(text), 1):
        bound = bind(statement, catalog)
        dry_run(bound, catalog)
        match bound:
            case Start(query=query):
                add(query.name, query.text, query)
            case Define(definition=DerivedStream() as derived):
                add(derived.name, derived.text, derived.select)
            case Rows(select=asked) | Plan(asked=asked) | Measure(asked=asked):
                add(f"statement {number}", statement.own_text, asked)
            case Assignment(name=name, value=value):
                settings.assign(name, value)
    return plans

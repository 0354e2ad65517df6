"""`millstream explain SCRIPT`: how each query of a script would run; nothing is started."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from millstream.catalog.catalog import Catalog
from millstream.cli.common import read_script
from millstream.errors import SettingError, suggest


def add_arguments(commands: Any) -> None:
    """The arguments of this sub-command."""
    parser = commands.add_parser(
        "explain",
        help="show how the queries of a script would run",
        description=__doc__,
        epilog="Needs no Spark.",
    )
    parser.add_argument("script", type=Path, metavar="SCRIPT", help="a file of ESL statements")
    parser.add_argument("query", nargs="?", metavar="QUERY", help="only this query or derived stream")
    parser.add_argument("--json", action="store_true", help="one JSON object per query")
    parser.set_defaults(command=explain)


def explain(arguments: argparse.Namespace) -> int:
    """Print the plans."""
    plans = script_plans(read_script(arguments.script), arguments.script.parent)
    if arguments.query:
        chosen = {n: p for n, p in plans.items() if n.lower() == arguments.query.lower()}
        if not chosen:
            raise SettingError(
                f"{arguments.script} has no query '{arguments.query}': {suggest(arguments.query, plans)}"
            )
        plans = chosen
    for name, (text, plan) in plans.items():
        if arguments.json:
            print(json.dumps({"query": name, "text": text, "plan": plan.splitlines()}))
        else:
            print(f"{name}: {text}\n{plan}\n")
    return 0


def script_plans(text: str, base: Path) -> dict[str, tuple[str, str]]:
    """Every query and derived stream of a script, with its text and its plan."""
    from millstream.catalog.definitions import DerivedStream, Query, Select
    from millstream.connectors.facts import facts_of
    from millstream.language.binder import bind
    from millstream.language.bound import Define, Plan, Rows, Start
    from millstream.language.parser import statements
    from millstream.language.trial.pretend import pretend
    from millstream.plan.build import build
    from millstream.plan.explain import explain as explain_plan
    from millstream.plan.passes import apply_passes
    from millstream.plan.physical import physical

    facts = facts_of(base.absolute())
    catalog = Catalog()
    plans: dict[str, tuple[str, str]] = {}

    def add(name: str, written: str, asked: Select | Query) -> None:
        plan = physical(apply_passes(build(asked), catalog), facts)
        plans[name] = (" ".join(written.split()), explain_plan(plan))

    for number, statement in enumerate(statements(text), 1):
        bound = bind(statement, catalog)
        pretend(bound, catalog)
        match bound:
            case Start(query=query):
                add(query.name, query.text, query)
            case Define(definition=DerivedStream() as derived):
                add(derived.name, derived.text, derived.select)
            case Rows(select=asked) | Plan(asked=asked):
                add(f"statement {number}", statement.own_text, asked)
    return plans

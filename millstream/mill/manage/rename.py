"""ALTER ... RENAME TO: another name, in the texts of dependants too; what queries have left behind stays theirs.

A text is rewritten only if it means the same afterwards. It must bind where the old name is gone; and where both names
lead to the one definition, it must depend on the same columns, conditions and states as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from millstream.catalog.catalog import AGGREGATE, SINK, WINDOW_AGGREGATE, Catalog, Key, key_of
from millstream.catalog.definitions import Definition, DerivedStream, Query, View
from millstream.errors import MillstreamError, RunError
from millstream.language.bound import NewName
from millstream.language.names import kind_of
from millstream.language.parse.rewrite import edited, own_name_edit
from millstream.language.rename import with_other_name
from millstream.mill.answers import Answer
from millstream.mill.context import Context
from millstream.mill.manage.dependants import Dependant, bind_dependants, dependants_of
from millstream.mill.manage.replace_definition import Change, carry_out_change, prepared_steps
from millstream.mill.stored.bind_again import BoundEntry, bind_again
from millstream.mill.stored.catalog_store import Entry
from millstream.plan.build import build
from millstream.plan.column_origins import lineage_of
from millstream.plan.fingerprint.lineage import Lineage
from millstream.plan.passes import apply_passes


def rename(bound: NewName, at: Context) -> Answer:
    """Give a definition another name."""
    definitions, old = at.definitions, bound.definition
    entry = definitions.entry(old)
    kind = kind_of(old)
    if entry is None:
        raise RunError(f"{kind} {old.name} cannot be renamed: it is not stored\nhelp: declare it under another name")
    users = dependants_of(old, definitions)
    text = edited(old.text, own_name_edit(old.text, bound.name))
    renamed = replace(entry, name=bound.name, text=text)
    trial = definitions.catalog.copy()
    trial.remove(old)
    definitions.give_folder(renamed)  # a stored table is found in its folder
    try:
        again = _bound_again(renamed, old, trial, at)
        trial.add(again.definition, again.uses)
        texts = _texts(users, old, bound.name)
        made = bind_dependants(old, users, texts, trial, definitions)
        for user, (definition, _) in zip(users, made, strict=True):
            _check_same(user, definition, old, bound.name, at)
    except BaseException:
        definitions.take_folder_back(again_named(old, bound.name))
        definitions.give_folder(entry)
        raise
    pairs = [(old, again.definition), *((u.definition, d) for u, (d, _) in zip(users, made, strict=True))]
    queries = [(was, is_) for was, is_ in pairs if isinstance(was, Query) and isinstance(is_, Query)]
    entries: list[Entry] = [renamed, *(changed for _, changed in made)]
    steps = prepared_steps(queries, trial, at)
    started = carry_out_change(Change(entries, trial, steps, old, again.definition, renames=True), at)
    others = [query.name for query in started if not isinstance(old, Query)]
    note = f"; {', '.join(others)} started again" if others else ""
    return Answer(f"renamed {kind} {old.name} to {bound.name}{note}")


def _bound_again(renamed: Entry, old: Definition, trial: Catalog, at: Context) -> BoundEntry:
    try:
        return bind_again(renamed, trial, at.definitions.base, at.definitions.home)
    except MillstreamError as problem:
        if not isinstance(old, Query) or old.parameters is None:
            raise
        raise RunError(
            f"query {old.name} would not bind under the name '{renamed.name}': its parameters may be written "
            f"{old.name}.x in it\nhelp: CREATE QUERY {renamed.name} beside it, and DROP QUERY {old.name}"
        ) from problem


def again_named(definition: Definition, name: str) -> Definition:
    """The definition under another name."""
    return replace(definition, name=name)


def _texts(users: list[Dependant], old: Definition, name: str) -> Mapping[Key, str]:
    space = key_of(old)[0]
    return {user.entry.key: with_other_name(user.entry.text, space, old.name, name) for user in users}


def _check_same(user: Dependant, now: Definition, old: Definition, name: str, at: Context) -> None:
    """Refuse to rewrite a text that would mean something else, or of which it is not known."""
    was = user.definition
    if isinstance(was, View) and isinstance(now, View):
        was, now = was.query, now.query
    problem = RunError(
        f"{kind_of(old)} {old.name} is used by {kind_of(was)} {was.name}, in a way in which it cannot be renamed\n"
        f"help: drop {was.name} and create it anew, or keep the name"
    )
    if key_of(old)[0] == SINK:
        return  # it has been bound without the old name, and a sink has one place in a text
    if not (isinstance(was, Query | DerivedStream) and isinstance(now, Query | DerivedStream)):
        if key_of(old)[0] in {AGGREGATE, WINDOW_AGGREGATE}:
            return  # a body names no functions but those that it calls
        raise problem
    both = at.definitions.catalog.copy()
    both.add_as(name, old)
    if _lineage(now, both) != _lineage(was, both):
        raise problem


def _lineage(definition: Query | DerivedStream, catalog: Catalog) -> Lineage:
    select = definition.select
    return lineage_of(apply_passes(build(select), catalog))

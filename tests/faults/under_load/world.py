"""What should be there: the queries that were said to be, and what the next statement may make of them."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from tests.faults.under_load.kinds import (
    DERIVED,
    IN_COMPANY,
    KINDS,
    ROWS,
    TEMPLATE,
    VIEW,
    WINDOW_VIEW,
    Kind,
)
from tests.faults.under_load.load import KEYS

TAG = re.compile(r"\b(\d+) AS tag\b")
VIEWS = (VIEW, WINDOW_VIEW)
MOST = 9
"""Queries at a time, or so."""


@dataclass
class Life:
    """A query from its CREATE on, under whatever name.

    `tags` are what its versions write beside the answers, each with how many rows there were when it was sure that
    this version is at work. `gaps`: for each time it began anew, how many rows it may have passed over.
    """

    kind: Kind
    tags: dict[int, int | None] = field(default_factory=dict)
    sure: int | None = None
    gaps: int = 0


@dataclass(frozen=True)
class Held:
    """A query as it should be now. Of a sink, the mill makes up the name."""

    name: str
    tag: int
    runs: bool = True


@dataclass(frozen=True)
class Registered:
    """A registration: of which life, for which key."""

    life: int
    key: int


@dataclass(frozen=True)
class State:
    """What is there: the queries by their lives, and the registrations by their handles."""

    queries: Mapping[int, Held] = field(default_factory=dict)
    registrations: Mapping[str, Registered] = field(default_factory=dict)

    def having(self, life: int, held: Held) -> State:
        """With a query, as it is then."""
        return replace(self, queries={**self.queries, life: held})

    def without(self, life: int) -> State:
        """Without a query, and its registrations."""
        registrations = {h: r for h, r in self.registrations.items() if r.life != life}
        return State({n: h for n, h in self.queries.items() if n != life}, registrations)


@dataclass(frozen=True)
class Statement:
    """A text, and what is there when it has been carried out. `else_`: what may also be there if it is cut short."""

    text: str
    after: State
    else_: tuple[State, ...] = ()
    tag: int | None = None
    anew: bool = False


class World:
    """Draws statements, and keeps what they have made."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._tags = itertools.count(1)
        self._handles = itertools.count(1)
        self.lives: dict[int, Life] = {}
        self.by_tag: dict[int, int] = {}
        self.registered: dict[str, int] = {}
        """How many rows there were when a registration was sure to be there."""
        self.state = State()

    # -- what is said ------------------------------------------------------------------------------------------

    def draw(self) -> Statement:
        """The next statement."""
        chance, queries = self._chance, self.state.queries
        if len(queries) < 3 or (len(queries) < MOST and chance.random() < 0.3):
            if chance.random() < 0.3:
                return self.create([chance.choice(IN_COMPANY) for _ in range(chance.randint(2, 4))])
            return self.create([self._kind()])
        life, held = chance.choice(list(queries.items()))
        kind = self.lives[life].kind
        drawn: list[Callable[[int, Held], Statement]] = [self._stop_or_start] * 2
        drawn += [self._drop] * (3 if len(queries) >= MOST else 1)
        drawn += [self._alter] * 2 if kind.alters else []
        drawn += [self._alter_anew] if kind in (ROWS, DERIVED) else []
        drawn += [self._look] if kind in VIEWS else [self._rename]
        drawn += [self._register] * 3 if kind is TEMPLATE and held.runs else []
        drawn += [self._unregister] if kind is TEMPLATE and held.runs and self._handles_of(life) else []
        return self._slack() if chance.random() < 0.05 else chance.choice(drawn)(life, held)

    def create(self, kinds: Sequence[Kind]) -> Statement:
        """New queries in one text: if it is cut short, some of them may be there."""
        made: dict[int, Held] = {}
        texts = []
        for kind in kinds:
            life, tag, name = self._new(kind, [one.name for one in made.values()])
            made[life] = Held(name, tag)
            texts.append(kind.statement(name, tag))
        some = [some for count in range(1, len(made)) for some in combinations(made, count)] if len(made) < 9 else []
        states = [self._with({life: made[life] for life in one}) for one in some]
        return Statement(";\n".join(texts), self._with(made), tuple(states))

    def _with(self, made: Mapping[int, Held]) -> State:
        return replace(self.state, queries={**self.state.queries, **made})

    def _handles_of(self, life: int) -> list[str]:
        return [handle for handle, one in self.state.registrations.items() if one.life == life]

    def _kind(self) -> Kind:
        there = {self.lives[life].kind for life in self.state.queries}
        free = [kind for kind in KINDS if kind.sink != "single" or kind not in there]
        wanted = [kind for kind in free if kind not in there]
        return self._chance.choice(wanted if wanted and self._chance.random() < 0.7 else free)

    def _new(self, kind: Kind, taken: Iterable[str] = ()) -> tuple[int, int, str]:
        life, tag = len(self.lives), self._tag()
        self.lives[life] = Life(kind, {tag: None})
        self.by_tag[tag] = life
        names = {f"q{number}" for number in range(1, 90)} - {h.name for h in self.state.queries.values()} - set(taken)
        return life, tag, "" if kind.sink else self._chance.choice(sorted(names))

    def _tag(self) -> int:
        return next(self._tags)

    def _stop_or_start(self, life: int, held: Held) -> Statement:
        word = "STOP" if held.runs else "START"
        return Statement(f"{word} QUERY {held.name}", self.state.having(life, replace(held, runs=not held.runs)))

    def _alter(self, life: int, held: Held) -> Statement:
        tag = self._altered_tag(life)
        text = self.lives[life].kind.altered(held.name, tag)
        return Statement(text, self.state.having(life, replace(held, tag=tag)), tag=tag)

    def _alter_anew(self, life: int, held: Held) -> Statement:
        return replace(one := self._alter(life, held), text=f"{one.text} STARTING NOW", anew=True)

    def _altered_tag(self, life: int) -> int:
        tag = self._tag()
        self.lives[life].tags[tag] = None
        self.by_tag[tag] = life
        return tag

    def _rename(self, life: int, held: Held) -> Statement:
        names = {f"q{number}" for number in range(1, 30)} - {one.name for one in self.state.queries.values()}
        name = self._chance.choice(sorted(names))
        after = self.state.having(life, replace(held, name=name))
        return Statement(f"ALTER QUERY {held.name} RENAME TO {name}", after)

    def _drop(self, life: int, held: Held) -> Statement:
        word = "VIEW" if self.lives[life].kind in VIEWS else "QUERY"
        return Statement(f"DROP {word} {held.name}", self.state.without(life))

    def _slack(self) -> Statement:
        stream = self._chance.choice(("s", "kept", "pushed"))
        return Statement(f"ALTER STREAM {stream} SET (SLACK = {self._chance.randint(10, 13)} SECONDS)", self.state)

    def _look(self, _: int, held: Held) -> Statement:
        return Statement(f"SELECT * FROM {held.name}" if held.runs else "SHOW SHARING", self.state)

    def _register(self, life: int, held: Held) -> Statement:
        handle, key = f"h{next(self._handles)}", self._chance.randrange(KEYS)
        after = replace(self.state, registrations={**self.state.registrations, handle: Registered(life, key)})
        return Statement(f"REGISTER {held.name} ({key}) AS {handle}", after)

    def _unregister(self, life: int, _: Held) -> Statement:
        handle = self._chance.choice(self._handles_of(life))
        rest = {h: r for h, r in self.state.registrations.items() if h != handle}
        return Statement(f"UNREGISTER {handle}", replace(self.state, registrations=rest))

    # -- what came of it ---------------------------------------------------------------------------------------

    def settle(
        self, done: Statement | None, cut: Statement | None, found: Mapping[int, Held], handles: set[str], rows: int
    ) -> None:
        """Take over what is there: what a statement that is `done` says, or one that was `cut` short says, or not."""
        expected = [self.state] if done is None else [done.after]
        if cut is not None:
            expected = [cut.after, self.state, *cut.else_]
        matching = [state for state in expected if _is(state, found, handles)]
        assert matching, f"after {(done or cut)!r}:\nfound {found} {handles}\nexpected one of {expected}"
        state = matching[0]
        named = {life: replace(held, name=found[life].name) for life, held in state.queries.items()}
        self.state = replace(state, queries=named)
        for life, held in named.items():
            one = self.lives[life]
            one.sure = rows if one.sure is None else one.sure
            if one.tags[held.tag] is None:
                one.tags[held.tag] = rows
        said = done or cut
        if said is not None and said.anew and any(held.tag == said.tag for held in named.values()):
            self.lives[self.by_tag[said.tag or 0]].gaps += 1
        for handle in state.registrations:
            self.registered.setdefault(handle, rows)


def _is(state: State, found: Mapping[int, Held], handles: set[str]) -> bool:
    if state.queries.keys() != found.keys():
        return False
    for life, held in state.queries.items():
        one = found[life]
        if (held.tag, held.runs) != (one.tag, one.runs) or held.name not in ("", one.name):
            return False
    known = {h for h, r in state.registrations.items() if state.queries[r.life].runs}
    return known <= handles <= state.registrations.keys()


def held_of(rows: Iterable[tuple[str, str, str]], by_tag: Mapping[int, int]) -> dict[int, Held]:
    """The queries that a mill shows, by their lives."""
    found = {}
    for name, state, text in rows:
        assert state in ("running", "stopped"), f"query {name} is {state}\n{text}"
        (tag,) = TAG.findall(text)
        assert by_tag[int(tag)] not in found, f"{text} is there twice"
        found[by_tag[int(tag)]] = Held(name, int(tag), state == "running")
    return found

"""Completion of a statement while it is typed: keywords, names, columns, functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import (
    REJECTED_SCHEMA,
    DerivedStream,
    Query,
    Relation,
    Sink,
    StoredTable,
    Stream,
    Table,
    View,
)
from millstream.catalog.settings import SETTINGS
from millstream.cli.lexer import KEYWORDS, STATEMENT_WORDS, TYPES
from millstream.connectors.contract import Role
from millstream.connectors.registry import CONNECTORS, kinds
from millstream.language.parse.changes import CHANGEABLE
from millstream.language.parse.standing.registrations import REGISTRATIONS
from millstream.language.parser import CREATED, DROPPED, SHOWN
from millstream.language.types import functions

_PIECE = re.compile(
    r"""(?P<comment>--[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)
      | (?P<text>'(?:''|\\.|[^'\\])*'?)
      | (?P<word>[A-Za-z_]\w*|`[^`]*`?|"[^"]*"?)
      | (?P<number>\d[\w.]*)
      | (?P<sign>\S)""",
    re.VERBOSE,
)
_AFTER_FROM = {"FROM", "JOIN"}
_ENDS_FROM = {"WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "UNION", "SELECT", "ON", "USING"}
_RELATIONS = (Stream, DerivedStream, Table, View)


class Offer(NamedTuple):
    """One thing to offer: the text, and what it is."""

    text: str
    kind: str


class EslCompleter(Completer):
    """Completes ESL from the catalog that is in force, and backslash commands from their names."""

    def __init__(self, catalog: Callable[[], Catalog], commands: Sequence[str] = (), base: Path | str = ".") -> None:
        self._in_force = catalog
        self._commands = commands
        self._paths = PathCompleter(get_paths=lambda: [str(base)], expanduser=True)
        self._here = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """What fits at the cursor, the likeliest first."""
        before = document.text_before_cursor
        if before.lstrip().startswith("\\"):
            yield from self._command(before.lstrip(), complete_event)
            return
        pieces = _statement(before)
        last = pieces[-1] if pieces else None
        if last and last.lastgroup == "comment" and last.end() == len(before) and last[0][-2:] != "*/":
            return
        if last and last.lastgroup == "text" and _is_open(last[0]):
            yield from self._address(pieces, last[0][1:], complete_event)
            return
        typed = last[0] if last and last.lastgroup == "word" and last.end() == len(before) else ""
        done = pieces[:-1] if typed else pieces
        if last and last.lastgroup == "number" and last.end() == len(before):
            return
        offers = self._offers(done, document.text_after_cursor, bool(typed) or complete_event.completion_requested)
        lower = _types_lower_case(typed, done)
        seen = set()
        for offer in offers:
            text = offer.text.lower() if lower and offer.kind == "keyword" else offer.text
            if text.lower().startswith(typed.lower()) and text != typed and text.lower() not in seen:
                seen.add(text.lower())
                yield Completion(text, -len(typed), display_meta="" if offer.kind == "keyword" else offer.kind)

    @property
    def _catalog(self) -> Catalog:
        return self._in_force()

    # -- statements ----------------------------------------------------------------------------------------

    def _offers(self, done: list[re.Match[str]], after: str, asked: bool) -> Iterable[Offer]:
        """What fits after the pieces; where nearly everything does, nothing unless something is typed or asked for."""
        words = [p[0].upper() for p in done if p.lastgroup != "comment"]
        if not words:
            return _keywords(STATEMENT_WORDS) if asked else ()
        if words[-1] == ".":
            return self._offer_columns(done, after)
        while words[-2:] == ["IF", "EXISTS"] or words[-3:] == ["IF", "NOT", "EXISTS"]:
            words = words[: -3 if words[-2] == "NOT" else -2]
        match words:
            case ["SHOW"]:
                return _keywords((*SHOWN, REGISTRATIONS, "VERSIONS OF"))
            case ["SHOW", "VERSIONS", "OF"] | ["ALTER"]:
                return _keywords(CREATED)
            case ["STOP" | "START"]:
                return _keywords(("QUERY",))
            case ["STOP" | "START", "QUERY"]:
                return self._offer_names(Query)
            case ["ALTER", kind] | ["SHOW", "VERSIONS", "OF", kind]:
                return self._offer_names(*_KINDS.get(kind, ()))
            case ["ALTER", "QUERY", _]:
                return _keywords(("AS SELECT", "WINDOW [", "RENAME TO"))
            case ["ALTER", "STREAM", _]:
                return _keywords(("SET (", "RENAME TO"))
            case ["ALTER", "TABLE" | "SINK" | "AGGREGATE", _]:
                return _keywords(("RENAME TO",))
            case ["ALTER", "STREAM", _, "SET", "("]:
                return _keywords(tuple(f"{clause} =" for clause in CHANGEABLE.values() if clause != "KEEP"))
            case ["SHOW", "REGISTRATIONS"]:
                return _keywords(("OF",))
            case ["SHOW", "REGISTRATIONS", "OF"] | ["REGISTER"]:
                return [Offer(q.name, "template") for q in self._catalog.all(Query) if q.parameters is not None]
            case ["REGISTER", _]:
                return _keywords(("VALUES", "SELECT"))
            case ["INVOKE", _]:
                return _keywords(("SINCE",))
            case ["INVOKE", _, "SINCE"]:
                return _keywords(("LAST", "TIMESTAMP"))
            case ["INVOKE" | "UNREGISTER", *_]:
                return ()
            case ["SET"]:
                return [Offer(name, "setting") for name in SETTINGS]
            case ["DROP"]:
                return _keywords(DROPPED)
            case ["DROP", "QUERY"]:  # that of a view goes with it
                return [Offer(q.name, "query") for q in self._catalog.all(Query) if not q.keys]
            case ["DROP", kind]:
                return self._offer_names(*_KINDS.get(kind, ()))
            case ["CREATE"]:
                return _keywords((*CREATED, "OR REPLACE"))
            case ["CREATE", "OR", "REPLACE"]:
                return _keywords(CREATED)
            case ["DESCRIBE" | "DESC"]:
                return self._offer_names(*_RELATIONS, Sink, Query)
            case ["EXPLAIN"]:
                return [*_keywords(("SELECT", "ANALYZE", "WHY NOT")), *self._offer_names(Query)]
            case ["EXPLAIN", "ANALYZE"]:
                return _keywords(("SELECT", "INSERT INTO", "QUERY"))
            case ["EXPLAIN", "ANALYZE", "QUERY"] | ["EXPLAIN", "WHY", "NOT"]:
                return self._offer_names(Query)
            case ["INSERT"]:
                return [Offer("INTO", "keyword")]
            case ["INSERT", "INTO"]:
                fed = [Offer(s.name, "stream") for s in self._catalog.all(Stream) if s.source is None]
                return [*self._offer_names(Sink, StoredTable), *fed]
            case ["UPDATE"] | ["DELETE", "FROM"]:
                return self._offer_names(StoredTable)
            case ["UPDATE", _]:
                return _keywords(("SET",))
            case ["UPDATE", _, "SET"]:
                return self._columns(done[1])
            case ["DELETE"]:
                return _keywords(("FROM",))
            case ["DELETE", "FROM", _]:
                return _keywords(("WHERE",))
            case ["DELETE", "FROM", _, "WHERE"]:
                return self._columns(done[2])
            case ["SUBSCRIBE"]:
                return self._offer_names(Query)
            case ["SUBSCRIBE", _]:
                return _keywords(("AFTER",))
            case ["CREATE", "VIEW", _]:
                return _keywords(("KEY",))
            case ["CREATE", _] | ["CREATE", "OR", "REPLACE", _] | ["ALTER", _, _, "RENAME", "TO"]:
                return ()
            case ["SHOW" | "SET" | "DESCRIBE" | "DESC" | "DROP" | "STOP" | "START", *_]:
                return ()
        if _in_from(words):
            return self._offer_names(*_RELATIONS)
        if (options := _open_options(done)) is not None:
            return [Offer(name, option) for name, option in options]
        if not asked:
            return ()
        return self._offer_anything(done, after)

    def _columns(self, name: re.Match[str]) -> list[Offer]:
        relation = self._catalog.relation(_unquote(name[0]))
        return [Offer(c, f"column of {relation.name}") for c in relation.schema.names] if relation else []

    def _offer_anything(self, done: list[re.Match[str]], after: str) -> Iterator[Offer]:
        named = self._find_relations(done, after)
        relations = list(named.values()) or [d for d in self._catalog if isinstance(d, _RELATIONS)]
        for relation in relations:
            yield from (Offer(c, f"column of {relation.name}") for c in relation.schema.names)
        yield from (Offer(alias, _kind(relation)) for alias, relation in named.items())
        yield from _keywords(KEYWORDS)
        if done[0][0].upper() == "CREATE":
            yield from _keywords(TYPES)
        yield from (Offer(f, "function") for f in functions.names() if f not in functions.FORBIDDEN)

    def _offer_columns(self, done: list[re.Match[str]], after: str) -> Iterator[Offer]:
        """After `x.`: the columns of x, or where x stands in a FROM, its side output."""
        name = _unquote(done[-2][0]) if len(done) > 1 else ""
        words = [p[0].upper() for p in done[:-2]]
        if _in_from(words) or words[:1] in (["DESCRIBE"], ["DESC"]):
            if isinstance(self._catalog.relation(name), Stream):
                yield Offer("REJECTED", "rows that did not parse")
            return
        relation = self._find_relations(done, after).get(name.lower()) or self._catalog.relation(name)
        if relation:
            yield from (Offer(c, f"column of {relation.name}") for c in relation.schema.names)
        if name.upper() == "REJECTED":
            yield from (Offer(c, "column of REJECTED") for c in REJECTED_SCHEMA.names)

    def _find_relations(self, done: list[re.Match[str]], after: str) -> dict[str, Relation]:
        """The relations that the statement names in its FROM, also behind the cursor, by name and by alias."""
        pieces = [*done, *_statement(after, first=True)]
        words = [p[0].upper() for p in pieces]
        found: dict[str, Relation] = {}
        for i, piece in enumerate(pieces):
            relation = self._catalog.relation(_unquote(piece[0])) if piece.lastgroup == "word" else None
            if relation is None or not _in_from(words[:i]):
                continue
            rest = [p[0] for p in pieces[i + 1 : i + 3]]
            if rest[:1] and rest[0].upper() == "AS":
                del rest[0]
            has_alias = rest and re.fullmatch(r"[A-Za-z_]\w*", rest[0]) and rest[0].upper() not in KEYWORDS
            found[rest[0].lower() if has_alias else relation.name.lower()] = relation
        return found

    def _offer_names(self, *kinds: type[Stream | DerivedStream | Table | Sink | Query]) -> list[Offer]:
        found = (d for d in self._catalog if isinstance(d, kinds))
        return [Offer(d.name, _kind(d)) for d in found if View in kinds or not isinstance(d, View)]

    # -- addresses and commands ----------------------------------------------------------------------------

    def _address(self, pieces: list[re.Match[str]], typed: str, event: CompleteEvent) -> Iterator[Completion]:
        """Inside the quotes of SOURCE or TO: the kinds, and the files of this machine."""
        role = _role([p[0].upper() for p in pieces[:-1]])
        offered = kinds(role) if role else ()
        kind, colon, path = typed.partition(":")
        if not colon:
            for name in offered:
                if name.startswith(kind.lower()):
                    yield Completion(f"{name}:", -len(kind))
        elif kind.lower() in offered and CONNECTORS[kind.lower()].path:
            yield from self._paths.get_completions(Document(path), event)

    def _command(self, before: str, event: CompleteEvent) -> Iterator[Completion]:
        command, space, rest = before.partition(" ")
        if not space:
            yield from (Completion(c, -len(command)) for c in self._commands if c.startswith(command))
        elif command == "\\i":
            yield from self._here.get_completions(Document(rest.lstrip()), event)
        elif command in {"\\d", "\\stop"}:
            kinds = (Query,) if command == "\\stop" else (*_RELATIONS, Sink, Query)
            for offer in self._offer_names(*kinds):
                if offer.text.lower().startswith(rest.strip().lower()):
                    yield Completion(offer.text, -len(rest.strip()), display_meta=offer.kind)


_KINDS: dict[str, tuple[type[Stream | DerivedStream | Table | Sink | Query], ...]] = {
    "STREAM": (Stream, DerivedStream),
    "VIEW": (View,),
    "TABLE": (Table,),
    "SINK": (Sink,),
    "QUERY": (Query,),
}


def _keywords(words: Iterable[str]) -> list[Offer]:
    return [Offer(word, "keyword") for word in words]


def _kind(definition: object) -> str:
    return next(kind.lower() for kind, classes in _KINDS.items() if isinstance(definition, classes))


def _statement(text: str, first: bool = False) -> list[re.Match[str]]:
    """The pieces of the last statement of a text, or of its first; a lone regular expression also reads half of one."""
    pieces: list[re.Match[str]] = []
    for piece in _PIECE.finditer(text):
        if piece[0] != ";":
            pieces.append(piece)
        elif first:
            break
        else:
            pieces = []
    return pieces


def _is_open(quoted: str) -> bool:
    """Whether a quoted text lacks its closing quote."""
    return re.fullmatch(r"'(?:''|\\.|[^'\\])*'", quoted) is None


def _in_from(words: list[str]) -> bool:
    """Whether a relation's name comes next.

    >>> _in_from(["SELECT", "A", "FROM"]), _in_from(["SELECT", "A", ","]), _in_from(["FROM", "S", ","])
    (True, False, True)
    """
    if not words or words[-1] in _AFTER_FROM:
        return bool(words)
    clauses = [w for w in words if w in _AFTER_FROM or w in _ENDS_FROM]
    return words[-1] == "," and bool(clauses) and clauses[-1] in _AFTER_FROM


def _open_options(done: list[re.Match[str]]) -> list[tuple[str, str]] | None:
    """The options that fit, if the cursor stands where the name of one is expected."""
    words = [p[0].upper() for p in done]
    if "OPTIONS" not in words or words[-1] not in {"(", ","}:
        return None
    start = len(words) - 1 - words[::-1].index("OPTIONS")
    if ")" in words[start:]:
        return None
    for clause in ("SOURCE", "TO"):
        if clause in words[:start] and words.index(clause) + 1 < start:
            at = words.index(clause) + 1
            kind, role = done[at][0].strip("'").partition(":")[0].lower(), _role(words[:at])
            spec = CONNECTORS.get(kind)
            return [(n, o.what) for n, o in spec.options(role).items()] if spec is not None and role else []
    return None


def _role(words: list[str]) -> Role | None:
    """What the address that comes next is for.

    >>> _role(["CREATE", "TABLE", "T", "(", "A", "INT", ")", "SOURCE"])
    <Role.TABLE: 'table'>
    """
    match words[-1:]:
        case ["TO"]:
            return Role.SINK
        case ["SOURCE"]:
            return Role.TABLE if "TABLE" in words[:2] else Role.STREAM
    return None


def _types_lower_case(typed: str, done: list[re.Match[str]]) -> bool:
    """Whether keywords are to be offered in lower case: as the word begun is, or else the statement's first."""
    sample = typed or (done[0][0] if done else "")
    return sample.islower()


def _unquote(name: str) -> str:
    return name.strip('`"')

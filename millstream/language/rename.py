"""Where a statement speaks of a definition, so that another name can be written there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millstream.catalog.catalog import AGGREGATE, RELATION, SINK, WINDOW_AGGREGATE
from millstream.language.parse import dialect
from millstream.language.parse.nodes import EslWindow
from millstream.language.parse.rewrite import Edit, edited, quoted
from millstream.language.parse.spans import span_of
from millstream.language.parse.statements import InsertInto, Span, SplitInto, Statement
from millstream.language.parser import parse


def with_other_name(text: str, space: str, old: str, new: str) -> str:
    """The text of a statement with another name for what it uses; whoever binds it sees whether that was all.

    >>> with_other_name("CREATE QUERY s AS SELECT s.v, s FROM s WHERE s.w = 's'", RELATION, "S", "t")
    "CREATE QUERY s AS SELECT t.v, s FROM t WHERE t.w = 's'"
    """
    (statement,) = parse(text)
    edits: dict[Span, str] = {}
    if space == SINK:
        edits = {span: quoted(new) for span in _sinks(statement, old)}
    elif space == RELATION:
        edits = {span: quoted(new) for tree in _trees(statement) for span in _relations(tree, old)}
    elif space in {AGGREGATE, WINDOW_AGGREGATE}:
        edits = {span: quoted(new) for span in _calls(dialect.tokenize(text), old)}
    found: list[Edit] = list(edits.items())
    return edited(text, found)


def called_names(text: str) -> frozenset[str]:
    """The names, in small letters, before all opening brackets of a text.

    >>> sorted(called_names("SELECT Mine(x), y + (z) FROM s"))
    ['+', 'mine']
    """
    tokens = dialect.tokenize(text)
    return frozenset(t.text.lower() for t, after in pairwise(tokens) if after.token_type is TokenType.L_PAREN)


def _sinks(statement: Statement, name: str) -> Iterator[Span]:
    match statement:
        case InsertInto(sink=sink):
            named = [sink]
        case SplitInto(outputs=outputs):
            named = [sink for sink, _ in outputs]
        case _:
            named = []
    for sink in named:
        if sink.text.lower() == name.lower():
            yield sink.span


def _relations(tree: exp.Expr, name: str) -> Iterator[Span]:
    """The places in a SELECT: in FROM, before the name of a side output, and before columns."""
    aliases = {node.name.lower() for node in tree.find_all(exp.TableAlias)}
    qualifies = name.lower() not in aliases  # else it is the alias that does
    for node in tree.walk():
        if isinstance(node, exp.Identifier) and node.name.lower() == name.lower():
            in_table = isinstance(node.parent, exp.Table) and node.arg_key in {"this", "db"}
            before_column = isinstance(node.parent, exp.Column | exp.Dot) and node.arg_key in {"table", "db"}
            span = span_of(node)
            if span is not None and (in_table or (before_column and qualifies)):
                yield span
        elif isinstance(node, EslWindow):
            yield from _in_window(node.meta.get("tokens", []), name, qualifies)


def _in_window(tokens: list[Token], name: str, qualifies: bool) -> Iterator[Span]:
    """The places in a window, which is kept as words: behind TABLE, and before columns."""
    words = [token.text.upper() for token in tokens]
    for place, token in enumerate(tokens):
        if token.text.lower() != name.lower() or token.token_type is TokenType.STRING:
            continue
        behind_table = place > 0 and words[place - 1] == "TABLE"
        before_dot = words[place + 1 : place + 2] == ["."] and (place == 0 or words[place - 1] != ".")
        if behind_table or (before_dot and qualifies):
            yield (token.start, token.end + 1)


def _calls(tokens: list[Token], name: str) -> Iterator[Span]:
    """The places where a function of that name is called."""
    for place, token in enumerate(tokens[:-1]):
        called = tokens[place + 1].token_type is TokenType.L_PAREN and token.token_type is not TokenType.STRING
        if called and token.text.lower() == name.lower():
            yield (token.start, token.end + 1)


def _trees(part: object) -> Iterator[exp.Expr]:
    """The outermost parsed expressions in a statement."""
    if isinstance(part, exp.Expr):
        yield part
    elif is_dataclass(part):
        for field in fields(part):
            yield from _trees(getattr(part, field.name))
    elif isinstance(part, list | tuple | dict):
        for inside in part.values() if isinstance(part, dict) else part:
            yield from _trees(inside)

"""Kept history: what KEEP, SINCE and START AT can be said of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import DerivedStream, Relation, Stream, Table
from millstream.catalog.moment import At, Moment
from millstream.catalog.select import HistorySpec, Select
from millstream.errors import EslError, EslSyntaxError, NotYet, Refused
from millstream.language.bind.scope import Scope
from millstream.language.parse.cursor import tokens_span
from millstream.language.parse.history import span_moments
from millstream.language.parse.nodes import SINCE
from millstream.language.parse.statements import CreateStream, Span

_KEEP = "declare it with KEEP, as in CREATE STREAM {name} (...) KEEP 2 HOURS SOURCE '...'"


def check_keep(statement: CreateStream) -> None:
    """Refuse to keep what would read otherwise later than it arrived."""
    if statement.keep is None:
        return
    where = statement.text, statement.name.span
    if statement.ahead is not None and statement.ahead.waits:
        raise NotYet(
            "a stream whose tuples WAIT for the clock cannot be kept yet: read later, they would not wait",
            *where,
            clause="KEEP",
            hint="leave KEEP out, or say AHEAD 1 HOUR REJECT",
        )


def history_scope(relation: Relation, name: str, tokens: Sequence[Token], text: str) -> Scope:
    """What is kept of a stream, as a relation that has an end."""
    since, until = span_moments(tokens, text)
    if isinstance(relation, Table) or relation.keep is None:
        kind = "a table" if isinstance(relation, Table) else "a stream of which nothing is kept"
        raise no_history(relation.name, kind, tokens, text)
    span = tokens_span(list(tokens))
    for moment in (since, until):
        if moment is not None:
            _check_timed(relation, moment, text, span, SINCE.upper())
    if since.at is At.NOW or (until is not None and until.at is At.EARLIEST):
        message = "nothing lies behind NOW or before EARLIEST"
        hint = "write SINCE EARLIEST, SINCE NOW - INTERVAL '1' HOUR, or SINCE '2026-01-01T00:00:00'"
        raise EslSyntaxError(message, text, span, clause=SINCE.upper(), hint=hint)
    if since.at is At.TIME and until is not None and until.at is At.TIME and until.micros <= since.micros:
        hint = "SINCE t UNTIL u reads what is stamped from t on and before u"
        raise EslSyntaxError("UNTIL is not after SINCE", text, span, clause="UNTIL", hint=hint)
    spec = HistorySpec(relation.name, since, until)
    return Scope(name, relation.schema, bounded=True, time=relation.time, source=spec)


def no_history(name: str, kind: str, tokens: Sequence[Token], text: str) -> EslError:
    """The error for a SINCE behind something that has no history."""
    hint = _KEEP.format(name=name) if kind.startswith("a stream") else "SINCE stands behind a stream that is kept"
    return Refused(f"{name} is {kind}: it has no history", text, tokens_span(list(tokens)), clause="SINCE", hint=hint)


def no_history_of_side(tokens: Sequence[Token], text: str) -> EslError:
    """The error for a SINCE behind a side output."""
    message = "the history of side outputs cannot be read by SINCE yet"
    hint = "CREATE QUERY q AS SELECT * FROM s.REJECTED START AT EARLIEST gives all of it, and goes on"
    return NotYet(message, text, tokens_span(list(tokens)), clause="SINCE", hint=hint)


def refuse_history_in_queries(select: Select, query: exp.Query, text: str) -> None:
    """A query that goes on cannot read a history that has an end yet: where that is would change when it stops."""
    if select.bounded:
        return
    for table in query.find_all(exp.Table):
        if tokens := table.meta.get(SINCE):
            message = "a history with an end cannot be read by a query that goes on yet"
            hint = "store it first: CREATE TABLE h AS SELECT ... FROM s SINCE ...; or begin there: START AT ..."
            raise NotYet(message, text, tokens_span(list(tokens)), clause="SINCE", hint=hint)


def check_start(start: Moment | None, select: Select, catalog: Catalog, text: str, span: Span) -> None:
    """Refuse START AT where there is no history to begin in."""
    if start is None:
        return
    if select.bounded:
        hint = "for what is kept of a stream write FROM s SINCE EARLIEST"
        raise Refused("START AT is for queries that go on", text, span, clause="START AT", hint=hint)
    for stream in _roots(select, catalog):
        if stream.keep is None:
            message = f"nothing is kept of {stream.name}: a query over it begins with what its source holds"
            raise Refused(message, text, span, clause="START AT", hint=_KEEP.format(name=stream.name))
        _check_timed(stream, start, text, span, "START AT")


def _check_timed(relation: Stream | DerivedStream, moment: Moment, text: str, span: Span, clause: str) -> None:
    if moment.at in {At.TIME, At.AGO} and relation.time is None:
        message = f"{relation.name} has no time stamp, so that no time can be found in its history"
        hint = "write EARLIEST or NOW; or declare it with ORDER BY its time-stamp column"
        raise Refused(message, text, span, clause=clause, hint=hint)


def _roots(select: Select, catalog: Catalog) -> Iterator[Stream | DerivedStream]:
    """The streams whose rows a SELECT reads as they arrive: those of derived ones that are not kept."""
    for name in select.reads:
        match catalog.relation(name):
            case Stream() as stream:
                yield stream
            case DerivedStream(keep=None) as derived:
                yield from _roots(derived.select, catalog)
            case DerivedStream() as derived:
                yield derived

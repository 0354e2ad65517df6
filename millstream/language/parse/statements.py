"""The statements of ESL, as the parser gives them: names not yet looked up, expressions not yet typed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from sqlglot import exp

from millstream.catalog.ahead import Ahead
from millstream.catalog.definitions import OnBadFile, Options
from millstream.catalog.keep import Keep
from millstream.catalog.moment import Moment
from millstream.catalog.schema import Schema

Span = tuple[int, int]


@dataclass(frozen=True)
class Name:
    """A name as it was written, and where."""

    text: str
    span: Span

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Place:
    """An address as it was written, and where."""

    text: str
    span: Span


@dataclass(frozen=True)
class Start:
    """START AT as it was written, and where."""

    moment: Moment
    span: Span


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Any statement; `text` is the whole script and `span` this statement's part of it."""

    text: str
    span: Span

    @property
    def own_text(self) -> str:
        """The statement alone, as it was written."""
        return self.text[slice(*self.span)]


@dataclass(frozen=True, kw_only=True)
class CreateStream(Statement):
    """CREATE STREAM s (columns) [ORDER BY c] [SLACK i] [AHEAD j] [KEEP k] ... [PUNCTUATED BY (p)] [SOURCE a].

    ON BAD FILE is for sources of files.
    """

    name: Name
    schema: Schema
    computed: dict[str, exp.Expression] = field(default_factory=dict)
    order_by: Name | None = None
    slack: timedelta = timedelta(0)
    ahead: Ahead | None = None
    idle_after: timedelta | None = None
    punctuated_by: exp.Expression | None = None
    on_bad_file: OnBadFile | None = None
    keep: Keep | None = None
    source: Place | None = None
    options: Options = field(default_factory=dict)
    if_not_exists: bool = False
    or_replace: bool = False
    clause_spans: dict[str, Span] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CreateStreamAs(Statement):
    """CREATE STREAM s [(names)] AS SELECT ...: a derived stream."""

    name: Name
    select: exp.Query
    renamed: tuple[Name, ...] = ()
    keep: Keep | None = None
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateTable(Statement):
    """CREATE TABLE t (columns) SOURCE a [OPTIONS (...)]."""

    name: Name
    schema: Schema
    source: Place
    options: Options = field(default_factory=dict)
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateTableAs(Statement):
    """CREATE TABLE t [(names)] AS SELECT ...: the rows of a bounded SELECT, stored."""

    name: Name
    select: exp.Query
    renamed: tuple[Name, ...] = ()
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateSink(Statement):
    """CREATE SINK s TO a [OPTIONS (...)]."""

    name: Name
    to: Place
    options: Options = field(default_factory=dict)
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateQuery(Statement):
    """CREATE QUERY q [(parameters)] AS SELECT ... [START AT m]: a persistent query whose results can be read.

    `places` are those of the parameters, by their names in small letters.
    """

    name: Name
    select: exp.Query
    start: Start | None = None
    or_replace: bool = False
    parameters: Schema | None = None
    places: dict[str, Span] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StopQuery(Statement):
    """STOP QUERY q."""

    name: Name


@dataclass(frozen=True, kw_only=True)
class StartQuery(Statement):
    """START QUERY q."""

    name: Name


@dataclass(frozen=True, kw_only=True)
class AlterQuery(Statement):
    """ALTER QUERY q AS SELECT ... [STARTING NOW]: another SELECT in its place; `body` is where it stands."""

    name: Name
    select: exp.Query
    body: Span
    starting_now: bool = False


@dataclass(frozen=True, kw_only=True)
class AlterQueryWindow(Statement):
    """ALTER QUERY q WINDOW [RANGE ..., SLIDE ...] [STARTING NOW]: the same SELECT with another window."""

    name: Name
    window: str
    starting_now: bool = False


@dataclass(frozen=True, kw_only=True)
class AlterStream(Statement):
    """ALTER STREAM s SET (SLACK = 5 SECONDS, ...): other clauses as they are written, None for those to be left out."""

    name: Name
    clauses: dict[str, str | None]


@dataclass(frozen=True, kw_only=True)
class Rename(Statement):
    """ALTER STREAM | TABLE | SINK | QUERY | [WINDOW] AGGREGATE x RENAME TO y."""

    kind: str
    name: Name
    to: Name


@dataclass(frozen=True, kw_only=True)
class InsertInto(Statement):
    """INSERT INTO x [(columns)] SELECT ...: a persistent query that feeds a sink or a stream, or rows for a table."""

    sink: Name
    select: exp.Query
    start: Start | None = None
    columns: tuple[Name, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SplitInto(Statement):
    """FROM stream INSERT INTO a SELECT ... INSERT INTO b SELECT ...: one reading that feeds several sinks.

    Each SELECT has the FROM that all of them share.
    """

    outputs: tuple[tuple[Name, exp.Query], ...]
    start: Start | None = None


@dataclass(frozen=True, kw_only=True)
class SelectRows(Statement):
    """SELECT ...: rows to whoever asked."""

    select: exp.Query
    start: Start | None = None


@dataclass(frozen=True, kw_only=True)
class Explain(Statement):
    """EXPLAIN SELECT ... or EXPLAIN query."""

    select: exp.Query | None = None
    name: Name | None = None


@dataclass(frozen=True, kw_only=True)
class WhyNot(Statement):
    """EXPLAIN WHY NOT query."""

    name: Name


@dataclass(frozen=True, kw_only=True)
class Analyze(Statement):
    """EXPLAIN ANALYZE SELECT ..., or of a statement that starts a query."""

    asked: Statement


@dataclass(frozen=True, kw_only=True)
class AnalyzeQuery(Statement):
    """EXPLAIN ANALYZE QUERY query."""

    name: Name


@dataclass(frozen=True, kw_only=True)
class Show(Statement):
    """SHOW STREAMS | TABLES | SINKS | QUERIES | SETTINGS | FUNCTIONS."""

    what: str


@dataclass(frozen=True, kw_only=True)
class ShowVersions(Statement):
    """SHOW VERSIONS OF STREAM | TABLE | SINK | QUERY | [WINDOW] AGGREGATE x."""

    kind: str
    name: Name


@dataclass(frozen=True, kw_only=True)
class Describe(Statement):
    """DESCRIBE x."""

    name: Name


@dataclass(frozen=True, kw_only=True)
class Drop(Statement):
    """DROP STREAM | TABLE | SINK | QUERY [IF EXISTS] x."""

    kind: str
    name: Name
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class SetValue(Statement):
    """SET name = value."""

    name: Name
    value: str
    value_span: Span

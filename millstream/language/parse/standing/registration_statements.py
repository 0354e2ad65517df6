"""The statements about registrations of a template, as the parser gives them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.language.parse.statements import Name, Span, Statement


@dataclass(frozen=True)
class Written:
    """The arguments of a registration as they were written, where, and the handle if one is given."""

    arguments: tuple[exp.Expression, ...]
    span: Span
    handle: Name | None = None


@dataclass(frozen=True, kw_only=True)
class Register(Statement):
    """REGISTER template (arguments) [AS handle], or with VALUES several of them, or the rows of a SELECT."""

    template: Name
    rows: tuple[Written, ...] = ()
    select: exp.Query | None = None


@dataclass(frozen=True, kw_only=True)
class Unregister(Statement):
    """UNREGISTER handle, ..."""

    handles: tuple[Name, ...]


@dataclass(frozen=True, kw_only=True)
class Invoke(Statement):
    """INVOKE handle [SINCE time | SINCE LAST]."""

    handle: Name
    since: exp.Expression | None = None
    last: bool = False


@dataclass(frozen=True, kw_only=True)
class ShowRegistrations(Statement):
    """SHOW REGISTRATIONS [OF template]."""

    template: Name | None = None

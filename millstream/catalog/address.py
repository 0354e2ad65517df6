"""Addresses of sources and sinks: `csv:data/open/*.csv`, `tcp:4446`, `rate:1000`, `console:`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from millstream.errors import EslSyntaxError, SettingError, suggest

FILE_KINDS = ("csv", "json", "parquet")
SOURCE_KINDS = (*FILE_KINDS, "rate", "tcp")
TABLE_ONLY_KINDS = ("postgres",)
SINK_KINDS = (*FILE_KINDS, "console", "memory", "noop")
LATER_KINDS = ("kafka",)


@dataclass(frozen=True)
class Address:
    """Where rows come from or go to: a kind, and what that kind makes of the rest.

    >>> Address.parse("csv:data/open/*.csv")
    Address(kind='csv', rest='data/open/*.csv')
    >>> Address.parse("port4445")
    Address(kind='tcp', rest='4445')
    """

    kind: str
    rest: str

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read an address; the spelling of the Stream Mill paper, `port4445`, means `tcp:4445`."""
        if paper := re.fullmatch(r"port\s*(\d+)", text.strip(), re.IGNORECASE):
            return cls("tcp", paper[1])
        kind, colon, rest = text.strip().partition(":")
        if not colon or not re.fullmatch(r"[A-Za-z]\w*", kind):
            raise SettingError(f"'{text}' is not an address: write a kind, a colon and a place, as 'csv:data/*.csv'")
        # Other programs take either spelling of a PostgreSQL URL.
        return cls("postgres" if kind.lower() == "postgresql" else kind.lower(), rest.strip())

    def checked(self, kinds: tuple[str, ...], role: str) -> Address:
        """The address itself, if its kind can serve in that role; a table has some kinds besides those given."""
        kinds = (*kinds, *TABLE_ONLY_KINDS) if role == "table" else kinds
        if self.kind == "postgres" and self.rest:
            # Before any other check: an error of those shows the statement, and with it what is secret here.
            PostgresPlace.parse(self.rest)
        if self.kind in LATER_KINDS:
            raise SettingError(f"'{self.kind}:' is not available yet: a {role} can be {_list(kinds)}")
        if self.kind not in kinds:
            raise SettingError(f"'{self.kind}:' is not a kind of {role}: {suggest(self.kind, kinds)}")
        if not self.rest and self.kind in _EXAMPLE:
            raise SettingError(f"'{self}' names no place: write '{self.kind}:{_EXAMPLE[self.kind]}'")
        return self

    def __str__(self) -> str:
        return f"{self.kind}:{self.rest}"


_EXAMPLE = {
    "csv": "data/*.csv",
    "json": "data/bids",
    "parquet": "data/items",
    "postgres": "//user@host:5432/database?table=name",
    "rate": "1000",
    "tcp": "4446",
}

_POSTGRES = re.compile(
    r"//(?:(?P<user>[^@/?]*)@)?(?P<host>\[[^]/?@]*\]|[^:/?@]*)(?::(?P<port>[^/?@]*))?"
    r"(?:/(?P<database>[^?@]*))?(?:\?(?P<more>[^@]*))?"
)
_PARAMETERS = ("table", "sslmode", "sslrootcert")
_SECRET = re.compile(r"[?&]\w*pass\w*=", re.IGNORECASE)


@dataclass(frozen=True)
class PostgresPlace:
    """A table of a PostgreSQL server; what is empty is left to libpq, the client library, and its defaults.

    >>> PostgresPlace.parse("//ann@db.local:5433/shop?table=stock.item")
    PostgresPlace(host='db.local', port='5433', user='ann', database='shop', table=('stock', 'item'), ssl=())
    >>> PostgresPlace.parse("///shop").server
    'its default place'
    """

    host: str = ""
    port: str = ""
    user: str = ""
    database: str = ""
    table: tuple[str, ...] = ()
    ssl: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, rest: str) -> PostgresPlace:
        """Read what follows `postgres:`; in a name that holds `.`, `@`, `/` or `?`, write it as `%2E` and so on."""
        rest = re.sub(r"^/(?!/)", "///", rest)  # whoever takes it for a path makes three slashes one
        found = _POSTGRES.fullmatch(rest)
        if ":" in (found["user"] or "" if found else rest.rpartition("@")[0]) or _SECRET.search(rest):
            # Without its text: that would print the password.
            raise EslSyntaxError(
                "an address holds no password",
                clause="SOURCE",
                hint="leave it out, and name the variable of the environment that holds it: "
                "OPTIONS (password_env = 'PGPASSWORD'); ~/.pgpass serves, too",
            )
        if found is None:
            raise SettingError(f"'postgres:{rest}' is not an address: write 'postgres:{_EXAMPLE['postgres']}'")
        parameters = dict(_parameter(part) for part in (found["more"] or "").split("&") if part)
        for name in parameters:
            if name not in _PARAMETERS:
                raise SettingError(f"'postgres:' has no parameter '{name}': {suggest(name, _PARAMETERS)}")
        port = found["port"] or ""
        if port and not (port.isdigit() and 0 < int(port) < 65536):
            raise SettingError(f"'{port}' is not a port: write 'postgres:{_EXAMPLE['postgres']}'")
        table = tuple(map(unquote, parameters.get("table", "").split("."))) if parameters.get("table") else ()
        if len(table) > 2 or (table and not all(table)):
            raise SettingError(f"'{parameters['table']}' names no table: write table=name or table=schema.name")
        return cls(
            host=unquote(found["host"]).strip("[]"),
            port=port,
            user=unquote(found["user"] or ""),
            database=unquote(found["database"] or ""),
            table=table,
            ssl=tuple((name, unquote(parameters[name])) for name in _PARAMETERS[1:] if name in parameters),
        )

    @property
    def server(self) -> str:
        """The server, for messages.

        >>> PostgresPlace("db.local").server
        'db.local:5432'
        """
        if not self.host and not self.port:
            return "its default place"
        return f"{self.host or 'localhost'}:{self.port or 5432}"


def _parameter(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.lower(), value


def _list(kinds: tuple[str, ...]) -> str:
    return ", ".join(f"'{k}:'" for k in kinds[:-1]) + f" or '{kinds[-1]}:'"

"""`postgres:` addresses: a server, a database and a table of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from millstream.errors import EslSyntaxError, SettingError, suggest

EXAMPLE = "//user@host:5432/database?table=name"

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
            raise SettingError(f"'postgres:{rest}' is not an address: write 'postgres:{EXAMPLE}'")
        parameters = dict(_parameter(part) for part in (found["more"] or "").split("&") if part)
        for name in parameters:
            if name not in _PARAMETERS:
                raise SettingError(f"'postgres:' has no parameter '{name}': {suggest(name, _PARAMETERS)}")
        port = found["port"] or ""
        if port and not (port.isdigit() and 0 < int(port) < 65536):
            raise SettingError(f"'{port}' is not a port: write 'postgres:{EXAMPLE}'")
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

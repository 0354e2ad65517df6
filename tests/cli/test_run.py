"""`millstream run` and `explain` as a user meets them: exit codes, streams, messages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.cli.main import main

COMMAND = [sys.executable, "-m", "millstream.cli.main"]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text("id,name\n1,ann\n2,bob\nx,cat\n")
    path = tmp_path / "x.esl"
    path.write_text("""
        CREATE STREAM s (id INT, name STRING) SOURCE 'csv:in.csv';
        CREATE STREAM big AS SELECT id, upper(name) AS name FROM s WHERE id > 1;
        CREATE SINK o TO 'csv:out/big.csv';
        INSERT INTO o SELECT * FROM big;
        SELECT id + 1 AS next FROM s;
        SHOW SINKS;
    """)
    return path


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=200)


@pytest.mark.spark
def test_run_once(script: Path) -> None:
    done = run("run", script, "--once")
    assert done.returncode == 0, done.stderr
    assert "next\n2\n3\n" in done.stdout
    assert "o,csv:out/big.csv" in done.stdout
    assert (script.parent / "out" / "big.csv").read_text() == "id,name\n2,BOB\n"
    assert "o: ended, 3 rows in, 1 rows out, 1 rejected, 1 batches" in done.stderr
    assert "s: 1 row did not parse; see s.REJECTED" in done.stderr


@pytest.mark.spark
def test_a_failing_query_gives_a_clear_message_and_exit_code_1(script: Path) -> None:
    (script.parent / "y.esl").write_text("""
        CREATE STREAM s (id INT, name STRING) SOURCE 'csv:in.csv';
        CREATE SINK o TO 'csv:out/ok.csv';
        INSERT INTO o SELECT id FROM s;
        SELECT raise_error('out of cheese') AS x FROM s;
    """)
    done = run("run", script.parent / "y.esl", "--once", "--json", "--checkpoint", script.parent / "ck")
    assert done.returncode == 1
    assert "error: query select_1 failed:" in done.stderr
    assert "out of cheese" in done.stderr
    assert done.stderr.index("select_1 failed:") < done.stderr.index('{"seconds"')
    assert "help: Spark's own log is" in done.stderr
    assert (script.parent / "out" / "ok.csv").read_text() == "id\n1\n2\n"
    summary = next(json.loads(line) for line in done.stderr.splitlines() if line.startswith('{"seconds"'))
    assert {q["query"]: q["state"] for q in summary["queries"]} == {"o": "ended", "select_1": "failed"}


@pytest.mark.spark
def test_a_script_is_the_catalog_and_the_shell_takes_it_up(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("id\n1\n2\n")
    stream = "CREATE STREAM s (id INT) SOURCE 'csv:in'; CREATE SINK o TO 'csv:o'; CREATE SINK p TO 'csv:p';"
    (tmp_path / "x.esl").write_text(f"{stream} INSERT INTO o SELECT id FROM s; INSERT INTO p SELECT id FROM s;")
    arguments = ("--once", "--checkpoint", tmp_path / "ck")
    assert run("run", tmp_path / "x.esl", *arguments).returncode == 0
    (tmp_path / "in" / "b.csv").write_text("id\n3\n")
    (tmp_path / "x.esl").write_text(f"{stream} INSERT INTO o SELECT id * 10 AS id FROM s;")
    done = run("run", tmp_path / "x.esl", *arguments)
    assert done.returncode == 0, done.stderr
    assert "query p is not in this script: it is stopped; START QUERY or DROP QUERY decides" in done.stderr
    shown = subprocess.run(
        [*COMMAND, "shell", *map(str, arguments), "--json"],
        input="SHOW QUERIES; SHOW VERSIONS OF QUERY o; START QUERY p;",
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert shown.returncode == 0, shown.stderr
    assert "resumed 1 query: o" in shown.stderr
    found = [json.loads(line)["row"] for line in shown.stdout.splitlines()]
    assert [(row["query"], row["state"]) for row in found if "state" in row][1] == ("p", "stopped")
    assert [row["version"] for row in found if row.get("name") == "o"] == ["1", "2"]

    def ids(sink: str) -> list[str]:
        return sorted(line for file in (tmp_path / sink).glob("*.csv") for line in file.read_text().split()[1:])

    assert ids("o") == ["1", "2", "30"]
    assert ids("p") == ["1", "2", "3"]


def test_a_mistake_is_told_before_spark_starts(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(script.read_text() + "SELECT idd FROM s;")
    assert main(["run", str(script), "--once"]) == 1
    assert "error in SELECT: no column 'idd' in s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nowhere.esl"], "there is no script nowhere.esl"),
        (["run", "."], ". is a folder, not a script"),
        (["explain", "nowhere.esl"], "there is no script nowhere.esl"),
    ],
)
def test_bad_arguments(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


def test_bad_conf(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(script), "--conf", "driver.memory=4g"]) == 1
    assert "help: write --conf spark.driver.memory=4g" in capsys.readouterr().err


def test_explain_without_spark(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(script)]) == 0
    assert "Filter id > 1" in capsys.readouterr().out
    assert main(["explain", str(script), "o", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["query"] == "o"
    assert plan["plan"][-2].strip().startswith("└─ Scan stream s from csv:in.csv")
    assert plan["plan"][-1].strip() == "Spark reads: no step with state is behind it"
    assert main(["explain", str(script), "oo"]) == 1


def test_explain_goes_by_the_settings_of_the_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.esl"
    select = "SELECT k, count(*) OVER (PARTITION BY k ROWS 1 PRECEDING) AS n FROM s;"
    script.write_text(f"""CREATE STREAM s (k INT, ts TIMESTAMP) ORDER BY ts SOURCE 'parquet:in';
        {select} SET buckets = 3; SET reader = 'spark'; {select}""")
    conf = ["--conf", "spark.sql.shuffle.partitions=7"]
    assert main(["explain", str(script), "--master", "spark://host:7077", *conf]) == 0
    before, after = capsys.readouterr().out.split("\n\n")[:2]
    assert "7 buckets by k, one for each task of Spark" in before
    assert "the stage reads the files itself" in before
    assert "3 buckets by k, as set" in after
    assert "Spark reads: the setting reader says so" in after


def test_explain_loads_no_spark(script: Path) -> None:
    code = f"""import sys
from millstream.cli.main import main
main(['explain', {str(script)!r}])
print('pyspark' in sys.modules)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("command", [[], ["run"], ["shell"], ["explain"]])
def test_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*command, "--help"])
    assert left.value.code == 0
    assert "usage: millstream" in capsys.readouterr().out


def test_registrations_of_a_script_see_what_there_is(
    spark: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.csv").write_text("k\n1\n2\n")
    script = tmp_path / "script.esl"
    script.write_text("""
        CREATE STREAM s (k INT) SOURCE 'csv:s.csv';
        CREATE QUERY q (wanted INT) AS SELECT k FROM s WHERE k = wanted;
        REGISTER q (2) AS two;
        SHOW REGISTRATIONS;
    """)
    assert main(["run", str(script), "--once", "--master", "local[2]"]) == 0
    assert "wanted = 2" in capsys.readouterr().out

"""The benches of user-defined aggregates on engines: their arguments, their reports, and small runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.catalog.catalog import Catalog
from millstream.cli.main import main
from millstream.errors import SettingError
from millstream.language.binder import bind
from millstream.language.parser import parse
from millstream.language.trial.dry_run import dry_run
from millstream_bench.data.rows import START_MICROS
from millstream_bench.harness.report import Result
from millstream_bench.harness.workload import Setting
from millstream_bench.measures import uda_rates
from millstream_bench.udas.classes import Average, BatchAverage, BatchHighest, Highest
from millstream_bench.workloads import uda_avg, uda_max, uda_over, uda_pyflink, uda_udaf

OPTIONS = {"rows": 500, "rate": 100, "disorder": 0, "range": 10, "slide": 2, "keys": 2, "preceding": 99}
SETTING = Setting("data", 1, "1g", OPTIONS)
SMALL = ["--keys", "3", "--range", "2", "--repeat", "1", "--warm-up", "0", "--json"]


@pytest.mark.parametrize("workload", [uda_avg.WORKLOAD, uda_max.WORKLOAD, uda_over.WORKLOAD])
def test_the_one_in_sql_is_judged(workload: Any) -> None:
    assert list(workload.engines) == ["millstream-sql", "millstream-builtin", "millstream-python"]
    texts = {name: job(SETTING) for name, job in workload.engines.items()}
    assert "AGGREGATE" not in texts["millstream-builtin"].streams()
    assert "LANGUAGE PYTHON" in texts["millstream-python"].streams()
    assert "ITERATE" in texts["millstream-sql"].streams()
    wanted = "ROWS 99 PRECEDING" if workload is uda_over.WORKLOAD else "RANGE 10 SECONDS, SLIDE 2 SECONDS"
    assert all(wanted in job.select() for job in texts.values())
    for job in texts.values():
        catalog = Catalog()
        for statement in parse(f"{job.streams()}; CREATE QUERY q AS {job.select()}"):
            dry_run(bind(statement, catalog), catalog)


def test_a_workload_has_the_name_of_its_file() -> None:
    for module in (uda_avg, uda_max, uda_over, uda_pyflink, uda_udaf):
        assert module.__name__ == f"millstream_bench.workloads.{module.WORKLOAD.name}"


def test_forms_of_a_class_agree() -> None:
    for rows, batch in ((Average(), BatchAverage()), (Highest(), BatchHighest())):
        zeros = [rows.zero() for _ in range(3)]
        states = {name: pa.array([z[name] for z in zeros]).to_numpy(zero_copy_only=False).copy() for name in zeros[0]}
        values, groups = pa.array([1.0, 5.0, 3.0]).to_numpy(), pa.array([0, 2, 0]).to_numpy()
        for group, value in zip(groups.tolist(), values.tolist(), strict=True):
            zeros[group] = rows.reduce(zeros[group], value)
        states = batch.reduce_batch(states, groups, [values], None)
        merged = batch.finish_batch(batch.merge_batch(states, states)).tolist()
        assert merged == [rows.finish(rows.merge(state, state)) for state in zeros]


def test_the_comma_list_of_engines() -> None:
    assert uda_rates.chosen("") == (["millstream"], False)
    assert uda_rates.chosen("PyFlink") == (["millstream"], True)
    with pytest.raises(SettingError, match=r"bench uda udaf has no engine 'flink': did you mean 'pyflink'\?"):
        uda_rates.chosen("flink")


def test_rates_are_compared_whatever_the_rows() -> None:
    own = Result("uda_udaf", "millstream", 1_000_000, (2.0, 1.0, 4.0), 800, 1)
    slow = Result("uda_pyflink", "pyflink", 1000, (5.0,), 800, 1)
    assert uda_rates.ratios([own, slow]) == {"millstream/pyflink": 2500.0}
    lines = [json.loads(line) for line in uda_rates.json_lines([own, slow])]
    assert [line["bench"] for line in lines] == ["uda udaf"] * 3
    assert lines[-1]["ratios"] == {"millstream/pyflink": 2500.0}


def test_pyflink_gets_its_own_rows_at_the_same_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[Any, ...]] = []

    def compare(workload: Any, names: list[str], size: Any, options: dict[str, int], **_: Any) -> list[Result]:
        asked.append((workload.name, names, size.rows, options["rate"]))
        return [Result(workload.name, name, size.rows, (size.rows / 10,), 1, 1) for name in names]

    monkeypatch.setattr(uda_rates, "compare", compare)
    command = ["bench", "uda", "udaf", "--against", "applyinpandas,pyflink", "--rows", "3000000"]
    assert main([*command, "--pyflink-rows", "200", "--data", str(tmp_path)]) == 0
    assert asked == [
        ("uda_udaf", ["millstream", "applyinpandas"], 3_000_000, 100_000),
        ("uda_pyflink", ["millstream", "pyflink"], 200, 100_000),
        ("uda_pyflink", ["pyflink"], 50, 100_000),
    ]
    assert "10 rows/s" in capsys.readouterr().out


def test_start_and_end_are_left_out_of_the_marginal_rate() -> None:
    own = Result("uda_udaf", "millstream", 1_000_000, (1.0,), 800, 1)
    many, few = (Result("uda_pyflink", "pyflink", n, (20 + n / 1000,), 1, 1) for n in (40_000, 10_000))
    noted = uda_rates.with_marginal(many, few)
    assert noted.to_json()["marginal_rows_per_s"] == 1000
    assert uda_rates.ratios([own, noted]) == {"millstream/pyflink": 1500.0, "millstream/pyflink marginal": 1000.0}
    assert uda_rates.with_marginal(few, replace(few, runs=(99.0,))) is few  # noise: the fewer took longer


def test_sums_over_the_windows_that_all_answer(tmp_path: Path) -> None:
    ends = [START_MICROS + s * 1_000_000 for s in (1, 4, 5, 6)]
    rows = pa.table({"window_end": pa.array(ends, pa.timestamp("us", "UTC")), "answer": [1.0, 2.0, 3.0, 4.0]})
    pq.write_table(rows, tmp_path / "part.parquet")
    # The last of 500 rows is at 4.99 s: the watermark has passed 4 s. Flink answers all.
    assert list(uda_udaf.digest(tmp_path, SETTING).values()) == [2.0, 3.0]
    assert list(uda_pyflink.digest(tmp_path, SETTING).values()) == [4.0, 10.0]
    assert list(uda_avg.WORKLOAD.digest(tmp_path, SETTING).values()) == [4.0, 10.0]


def test_a_form_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "uda", "forms", "--only", "mx"]) == 1
    assert "bench uda forms has no 'mx'" in capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.usefixtures("in_this_process")
def test_forms_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rows", "6000", "--preceding", "9", "--only", "over", "--data", str(tmp_path), *SMALL]
    assert main(["bench", "uda", "forms", *arguments]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["bench"] for line in lines] == ["uda_over"] * 4
    assert {line["result_rows"] for line in lines[:3]} == {6000}
    assert set(lines[3]["ratios"]) == {"millstream-sql/millstream-builtin", "millstream-sql/millstream-python"}


@pytest.mark.spark
@pytest.mark.usefixtures("in_this_process")
def test_spark_by_hand_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rows", "20000", "--rate", "2000", "--against", "applyinpandas", "--data", str(tmp_path), *SMALL]
    assert main(["bench", "uda", "udaf", *arguments]) == 0
    own, by_hand, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert own["result_rows"] >= by_hand["result_rows"] > 0
    assert set(last["ratios"]) == {"millstream/applyinpandas"}

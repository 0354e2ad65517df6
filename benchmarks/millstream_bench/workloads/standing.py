"""`standing`: thousands of rules over one stream, as registrations of a template, or as one join with a frame."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream_bench.harness.jobs import SparkJob
from millstream_bench.harness.workload import Choice, Setting, Size, Workload

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from millstream import Mill
    from millstream_bench.data.rules import RuleSet

STATEMENTS = 1000
"""So many registrations are also made by statements, one by one."""

ALL = 1_000_000_000


def prepare(root: Path, size: Size, options: Mapping[str, int]) -> Path:
    """The data of this workload."""
    from millstream_bench.data.rows import ticks

    return ticks(root, rows=size.rows, keys=size.keys, seed=size.seed, disorder=0, rate=100_000)


def complete(size: Size, options: dict[str, int]) -> dict[str, int]:
    """Rules are about the keys that there are."""
    return {**options, "keys": size.keys}


def set_of(setting: Setting) -> RuleSet:
    """The form of the rules of a run."""
    from millstream_bench.data.rules import RULE_SETS

    return list(RULE_SETS.values())[setting.options["rules"]]


def rules_of(setting: Setting) -> pa.Table:
    """The rules of a run."""
    from millstream_bench.data.rules import RULE_SETS, rules

    chosen = setting.options
    name = list(RULE_SETS)[chosen["rules"]]
    return rules(name, chosen["registrations"], keys=chosen["keys"], seed=7, hits=chosen["hits"])


def digest(folder: Path, setting: Setting) -> dict[str, float]:
    """Sums that tell answers apart."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    found = pq.read_table(folder, columns=["v", "rule"])
    return {name: round(pc.sum(found[name]).as_py() or 0.0, 3) for name in ("v", "rule")}


class Esl:
    """The job as a template. A run starts where the template is created, and the answers are kept."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self._registered: list[float] = []

    def run(self) -> float:
        """One run, in a home of its own."""
        return self._run()[0]

    def write_results(self, folder: Path) -> None:
        """One run whose answers become Parquet."""
        import pyarrow.parquet as pq

        folder.mkdir()
        pq.write_table(self._run()[1], folder / "rows.parquet")

    def notes(self) -> dict[str, Any]:
        """How long it took to register."""
        return {
            "registered_in_s": round(min(self._registered), 3),
            f"{STATEMENTS}_statements_s": round(self._by_statements(), 3),
        }

    def close(self) -> None:
        """Stop Spark."""
        from pyspark.sql import SparkSession

        if active := SparkSession.getActiveSession():
            active.stop()

    def _mill(self, home: str | None = None) -> Mill:
        from millstream import connect

        conf = {"spark.driver.memory": self.setting.memory}
        mill = connect(home, once=True, master=f"local[{self.setting.cores}]", conf=conf)
        mill.execute(f"""
            CREATE STREAM ticks (ts TIMESTAMP, k INT, v DOUBLE) SOURCE 'parquet:{self.setting.data}';
            SET results_kept = {ALL}""")
        mill.spark.sparkContext  # noqa: B018  (opened before the clock starts)
        return mill

    def _create(self, mill: Mill) -> None:
        form = set_of(self.setting)
        select = f"SELECT ts, k, v, {form.shown} AS rule FROM ticks WHERE {form.condition}"
        mill.execute(f"CREATE QUERY rule ({form.parameters}) AS {select}")

    def _run(self) -> tuple[float, pa.Table]:
        rules = rules_of(self.setting)
        with self._mill() as mill:
            started = time.perf_counter()
            self._create(mill)
            created = time.perf_counter()
            mill.register("rule", rules)
            self._registered.append(time.perf_counter() - created)
            mill.wait()
            return time.perf_counter() - started, mill.query("rule").to_arrow()

    def _by_statements(self) -> float:
        """The seconds that so many statements take, each on disk before the next begins."""
        with tempfile.TemporaryDirectory(prefix="bench-standing-") as home, self._mill(home) as mill:
            self._create(mill)
            rows = rules_of(self.setting).slice(0, STATEMENTS).to_pylist()
            texts = [f"REGISTER rule ({', '.join(map(repr, row.values()))})" for row in islice(cycle(rows), STATEMENTS)]
            started = time.perf_counter()
            for text in texts:
                mill.execute(text)
            return time.perf_counter() - started


class Spark(SparkJob):
    """The same by hand: the rules as a frame that is joined with the stream."""

    def rows(self, spark: SparkSession) -> DataFrame:
        """The pairs of a row and a rule that holds for it."""
        from pyspark.sql import functions as F  # noqa: N812

        form = set_of(self.setting)
        frame = F.broadcast(spark.createDataFrame(rules_of(self.setting)))
        ticks = spark.readStream.schema("ts TIMESTAMP, k INT, v DOUBLE").parquet(self.setting.data)
        chosen = ticks.join(frame, F.expr(form.condition))
        return chosen.select("ts", "k", "v", F.expr(form.shown).alias("rule"), frame.columns[0])


WORKLOAD = Workload(
    "standing",
    "standing queries: thousands of rules over one stream, beside the same rules as one join",
    prepare,
    {"millstream": Esl, "spark": Spark},
    (Choice("hits", 100, "how many answers 1000 rows have", 1),),
    complete=complete,
    digest=digest,
)

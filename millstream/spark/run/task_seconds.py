"""The seconds of Spark's tasks, told apart where tuples are exchanged.

Spark carries out the steps between two shuffles as one, and does not time them apart. It does tell how long the tasks
of each of its own stages ran. The shuffles of the executed plan say which steps these carry out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millstream.spark.metrics import STAGE

GROUP = "spark.jobGroup.id"
QUERY = "sql.streaming.queryId"

PATIENCE = 10_000
"""The milliseconds that Spark may take to note what its tasks have done."""


class Unclear(Exception):
    """Spark's plan does not say which steps its tasks carried out."""


@dataclass
class TaskSeconds:
    """Seconds of all tasks together: `before`, for the inputs of each stage; `last`, for the last stage and behind it.

    `beside` are those of other jobs, as for a table that is joined. `clear`: whether all of them could be told apart.
    """

    before: dict[int, float] = field(default_factory=dict)
    last: float = 0.0
    beside: float = 0.0
    clear: bool = True
    _jobs: set[int] = field(default_factory=set)

    def add_batch(self, frame: DataFrame, spark: SparkSession) -> None:
        """Count a micro-batch that has been computed, in the function that Spark calls for it."""
        context = frame.sparkSession.sparkContext
        query = spark._jsparkSession.streams().get(context.getLocalProperty(QUERY))  # noqa: SLF001
        self.add(spark, query.streamingQuery().lastExecution(), str(context.getLocalProperty(GROUP)))

    def add(self, spark: SparkSession, execution: Any, group: str) -> None:
        """Count the new jobs of a group, which are those of an execution."""
        try:
            context: Any = spark.sparkContext._jsc.sc()  # noqa: SLF001
            context.listenerBus().waitUntilEmpty(PATIENCE)
            stages = self._new_stages(spark, group)
            inputs = dict(_shuffle_inputs(execution.executedPlan(), 0, 0))
            for number in stages:
                self._add_stage(_attempts(spark, context, number), inputs, number == stages[-1])
        except Unclear:
            self.clear = False

    def _new_stages(self, spark: SparkSession, group: str) -> list[int]:
        """Spark's stages that have run for the group, the one that gives the rows last."""
        tracker = spark.sparkContext.statusTracker()
        jobs = sorted(set(tracker.getJobIdsForGroup(group)) - self._jobs)
        self._jobs.update(jobs)
        infos = [tracker.getJobInfo(job) for job in jobs]
        return [stage for info in infos if info is not None for stage in sorted(info.stageIds)]

    def _add_stage(self, attempts: list[Any], inputs: dict[int, int], gives_rows: bool) -> None:
        seconds = sum(attempt.executorRunTime() for attempt in attempts) / 1000
        computed = {int(part) for attempt in attempts for part in str(attempt.rddIds().mkString(",")).split(",")}
        readers = {inputs[part] for part in computed & set(inputs)}
        if gives_rows or readers == {0}:
            self.last += seconds
        elif not readers:
            self.beside += seconds
        else:
            stage = max(readers)
            self.before[stage] = self.before.get(stage, 0.0) + seconds


def _attempts(spark: SparkSession, context: Any, stage: int) -> list[Any]:
    """What Spark has noted of a stage, each time that it ran."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    quantiles = spark.sparkContext._gateway.new_array(jvm.double, 0)  # type: ignore[union-attr]  # noqa: SLF001
    found = context.statusStore().stageData(stage, False, jvm.java.util.ArrayList(), False, quantiles)
    return [found.apply(number) for number in range(found.length())]


def _shuffle_inputs(plan: Any, reader: int, above: int) -> Iterator[tuple[int, int]]:
    """What each shuffle reads, by its number in Spark, and for which of our stages; 0, for what is behind the last one.

    `above` is the stage whose shuffle is still to come, or 0.
    """
    name = str(plan.nodeName())
    if name in {"AdaptiveSparkPlan", "ReusedExchange"}:
        raise Unclear(name)
    if name == "CollectMetrics" and str(plan.name()).startswith(STAGE):
        above = int(str(plan.name()).removeprefix(STAGE))
    elif name == "Exchange":
        reader, above = above or reader, 0
        yield int(plan.inputRDD().id()), reader
    below = plan.children()
    for number in range(below.length()):
        yield from _shuffle_inputs(below.apply(number), reader, above)

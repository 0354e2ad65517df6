"""What tests of benchmarks share."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream_bench.harness import compare, plain_spark, worker
from millstream_bench.harness.engine import Engine
from millstream_bench.harness.workload import Setting
from millstream_bench.nexmark.contest import measure
from millstream_bench.nexmark.contest import worker as nexmark_worker
from millstream_bench.nexmark.contest.engine import QueryEngine

CORES = 2
"""Those of the session of the run."""


@pytest.fixture
def in_this_process(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines take turns in the session of the run, each with settings of its own.

    Otherwise each is a process with a Spark of its own, which takes most of the time of a small run: the workload
    `passthrough` is tested like that.
    """

    def by_hand(_: Setting) -> SparkSession:
        session = spark.newSession()
        for key, value in {"spark.sql.ansi.enabled": "true", "spark.sql.adaptive.enabled": "true"}.items():
            session.conf.set(key, value)
        return session

    monkeypatch.setattr(plain_spark, "session", by_hand)
    monkeypatch.setattr(compare, "Engine", _Here)
    monkeypatch.setattr(measure, "QueryEngine", _QueriesHere)


class _Here(Engine):
    """An engine that is asked and answers as one in a process of its own does, in JSON."""

    def __init__(self, workload: str, name: str, setting: Setting) -> None:
        self.name = name
        self.peak_bytes = 1 << 20
        self._answering = self._start(workload, replace(setting, cores=CORES))

    def _start(self, workload: str, setting: Setting) -> Callable[[str], dict[str, Any]]:
        found = importlib.import_module(f"millstream_bench.workloads.{workload}").WORKLOAD
        job = found.engines[self.name](setting)
        return lambda request: worker._do(found, job, setting, request)

    def ready(self) -> None:
        """It is."""

    def close(self) -> None:
        """The session goes on."""

    def _ask(self, request: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(json.dumps(self._answering(request)))
        return answer


class _QueriesHere(_Here, QueryEngine):
    """The same for the NEXMark queries."""

    def _start(self, workload: str, setting: Setting) -> Callable[[str], dict[str, Any]]:
        suite = measure.ENGINES[self.name].start(setting)
        return lambda request: nexmark_worker._do(suite, json.loads(request))

"""The Spark session: every setting in one place, each with its reason."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from pyspark import SparkConf
from pyspark.sql import SparkSession

from millstream.connectors.places.facts import TASKS, local_tasks
from millstream.errors import RunError, SettingError
from millstream.spark.process.class_archive import java_options
from millstream.spark.process.close_leaks import PORTS, ports_folder
from millstream.spark.process.failures import SPARK_ERRORS
from millstream.spark.process.jvm import end_quietly, forget_lost, is_lost, launch, run_in_thread, scratch
from millstream.spark.process.local_files import use_local_files

PYTHON_OF_WORKERS = Path(__file__).with_name("python_of_workers.sh")
"""What Spark starts in place of Python, on this machine: a query then starts half a second sooner."""


JAVA_OPTIONS = "spark.driver.defaultJavaOptions"


class Setting(NamedTuple):
    """One Spark setting and why it is so."""

    key: str
    value: str
    why: str


SETTINGS = (
    Setting("spark.app.name", "millstream", "what a cluster's pages call it"),
    Setting("spark.sql.session.timeZone", "UTC", "a time without a zone means UTC, on every machine"),
    Setting("spark.sql.ansi.enabled", "false", "what fails for a row gives NULL there, and the query lives"),
    Setting("spark.sql.variable.substitute", "false", "'${env:HOME}' is a text like any other, and stays it"),
    Setting("spark.sql.csv.parser.columnPruning.enabled", "false", "a row is broken or not, whatever a query reads"),
    Setting("spark.sql.files.maxPartitionBytes", "1g",
            "one task for each core: each costs 40 ms beside its work, and there would be one for 128 MB of files"),
    Setting("spark.sql.adaptive.enabled", "false", "micro-batches are small: re-planning them does not pay"),
    Setting("spark.sql.codegen.hugeMethodLimit", "8000", "the JVM compiles no longer method: it would be interpreted"),
    Setting("spark.sql.streaming.checkpointFileManagerClass",
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
            "the default one starts a process for every file operation: half of an empty batch's time"),
    Setting("spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
            "state beyond the heap, and the only provider of transformWithState"),
    Setting("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true",
            "a batch uploads what it changed, not whole files of the store"),
    Setting("spark.sql.execution.arrow.maxRecordsPerBatch", "100000",
            "operators are vectorised: ten thousand rows at a time would leave half of the speed"),
    Setting("spark.sql.streaming.minBatchesToRetain", "10",
            "a run goes on from the last batch: a hundred of them would be kept, each with several files"),
    Setting("spark.sql.streaming.stateStore.maintenanceInterval", "20s",
            "how long changes of state wait for what takes their place, and the state of ended queries for its end"),
    Setting("spark.sql.streaming.fileSource.log.cleanupDelay", "10s",
            "the names of read files are put together every ten batches, and would be kept one by one for ten minutes"),
    Setting("spark.sql.streaming.numRecentProgressUpdates", "10", "progress is counted as it comes, not kept"),
    Setting("spark.python.sql.dataFrameDebugging.enabled", "false",
            "each function of a column would ask the JVM five times where it was called: a sixth of a query's start"),
    Setting("spark.sql.execution.arrow.pyspark.enabled", "true", "rows cross to Python as Arrow, never one by one"),
    Setting("spark.sql.execution.pythonUDF.arrow.enabled", "true", "the same for functions"),
    Setting("spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs", "false", "sinks publish files themselves"),
    Setting("spark.python.authenticate.socketTimeout", "120s",
            "a new Python process is given up after 15 s otherwise, which a busy machine may need"),
    Setting("spark.ui.enabled", "false", "it would listen on every interface"),
    Setting("spark.ui.showConsoleProgress", "false", "the terminal belongs to the user's rows"),
    Setting("spark.sql.streaming.stopTimeout", "30s", "a query that does not stop is reported, not waited for"),
)  # fmt: skip

LOCAL_SETTINGS = (
    Setting("spark.driver.bindAddress", "127.0.0.1", "on one machine nothing listens beyond it"),
    Setting("spark.driver.host", "127.0.0.1", "on one machine nothing listens beyond it"),
    Setting(TASKS, str(local_tasks()), "one task per core: more are only overhead"),
    Setting(JAVA_OPTIONS, f"-XX:+UseParallelGC {java_options()}".strip(),
            "micro-batches are short: a collector beside them takes the cores they need; classes mapped, not loaded"),
    Setting("spark.driver.memory", f"{max(1, min(8, psutil.virtual_memory().total // 4 // 2**30))}g",
            "the driver runs everything: a quarter of the machine, 8 GiB at the most"),
)  # fmt: skip

FIXED = (
    Setting("spark.sql.session.timeZone", "UTC", "Spark and the stages would take a time without a zone for others"),
    Setting("spark.sql.ansi.enabled", "false", "a row that fails would end its query"),
    Setting("spark.sql.timestampType", "TIMESTAMP_LTZ", "TIMESTAMP would be a type without a zone"),
    Setting("spark.sql.decimalOperations.allowPrecisionLoss", "true", "decimals would have other digits"),
    Setting("spark.sql.icu.caseMappings.enabled", "true", "letters would have other capitals"),
    Setting("spark.sql.variable.substitute", "false", "texts in queries would print what the environment holds"),
    Setting("spark.sql.parser.escapedStringLiterals", "false", "texts in queries would have other characters"),
    Setting("spark.sql.parser.quotedRegexColumnNames", "false", "the name of a column would stand for others too"),
    Setting("spark.sql.ansi.doubleQuotedIdentifiers", "false", "Spark would take texts for names"),
    Setting("spark.sql.caseSensitive", "false", "names are found without regard to case"),
)
"""What nobody can have otherwise: these say how Spark reads the expressions that are written to it."""


def open_session(
    master: str | None = None, conf: Mapping[str, str] | None = None, log: Path | None = None
) -> SparkSession:
    """Start Spark, or join the session that this process already has, if that has the wanted settings.

    What the JVM writes to its standard error goes to `log`, if given, so that the terminal stays readable.
    """
    _refuse_others(conf or {})
    if (running := _running()) is not None:
        _check_settings(running, master, conf or {})
        master = running.sparkContext.master
    master = master or "local[*]"
    return run_in_thread(lambda: _open(master, conf or {}, log))


def _open(master: str, conf: Mapping[str, str], log: Path | None) -> SparkSession:
    settings = {s.key: s.value for s in (*SETTINGS, *FIXED, *(LOCAL_SETTINGS if master.startswith("local") else ()))}
    if master.startswith("local"):
        settings[JAVA_OPTIONS] += f' "-Djava.io.tmpdir={scratch()}"'
        settings |= use_local_files()
    wanted = {"spark.master": master, **settings, **conf}
    builder = SparkSession.builder
    for key, value in wanted.items():
        builder = builder.config(key, value)
    if os.environ.get("LC_ALL") in {"C", "POSIX"}:
        os.environ["LC_ALL"] = "C.UTF-8"  # the JVM could not open files whose names have letters beyond ASCII
    # Executors must run the same Python as the driver, with the same packages.
    os.environ.setdefault("MILLSTREAM_PYTHON", sys.executable)
    local = master.startswith("local") and os.access(PYTHON_OF_WORKERS, os.X_OK)
    if local:
        os.environ[PORTS] = str(ports_folder())
    os.environ.setdefault("PYSPARK_PYTHON", str(PYTHON_OF_WORKERS) if local else sys.executable)
    forget_lost()
    try:
        launch(SparkConf().setAll(list(wanted.items())), log)
        session = builder.getOrCreate()
    except (*SPARK_ERRORS, OSError, RuntimeError) as problem:
        raise RunError(_advice(problem, master, log)) from problem
    if master.startswith("local"):
        _leave_out_checksums(session)
    session.sparkContext.setLogLevel("WARN")
    end_quietly(session.sparkContext)
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        # PySpark would print each error, with its stack, besides raising it.
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return session


def _refuse_others(conf: Mapping[str, str]) -> None:
    """Refuse settings that would change what the text of a query means."""
    given = {key.strip().lower(): str(value).strip().lower() for key, value in conf.items()}
    for fixed in FIXED:
        if given.get(fixed.key.lower(), fixed.value.lower()) != fixed.value.lower():
            raise SettingError(f"{fixed.key} is always {fixed.value} here: otherwise {fixed.why}")


def _running() -> SparkSession | None:
    """The session that this process has, if it lives."""
    found = None if is_lost() else SparkSession._instantiatedSession  # noqa: SLF001  (PySpark would make one)
    return None if found is None or found.sparkContext._jsc is None else found  # noqa: SLF001


def _check_settings(session: SparkSession, master: str | None, conf: Mapping[str, str]) -> None:
    """There is one Spark in a process. Settings that it takes at its start only must not be ignored afterwards."""
    wanted = {**({} if master is None else {"spark.master": master}), **conf}
    for key, value in wanted.items():
        has = session.sparkContext.master if key == "spark.master" else session.conf.get(key, None)
        if has != str(value) and not session.conf.isModifiable(key):
            raise SettingError(
                f"Spark runs in this process already and has {key} = {'nothing' if has is None else has}: "
                f"it cannot have {value}\nhelp: give it to the first connect, or use a process of its own"
            )


def _leave_out_checksums(session: SparkSession) -> None:
    """Write no hidden checksum beside each file of a checkpoint on this machine.

    Hadoop starts a process for every permission that it sets, four of them for a file with a checksum, and a
    micro-batch writes half a dozen files.
    """
    context = session.sparkContext
    jvm: Any = context._jvm  # noqa: SLF001
    files = jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI("file:///"), context._jsc.hadoopConfiguration())  # noqa: SLF001
    files.setWriteChecksum(False)


def _advice(problem: Exception, master: str, log: Path | None) -> str:
    if "JAVA_GATEWAY_EXITED" in str(problem) or isinstance(problem, FileNotFoundError):
        return (
            "Spark did not start: it needs Java 17 or newer (looked at JAVA_HOME and the PATH).\n"
            "help: on Debian or Ubuntu, apt-get install openjdk-17-jre-headless"
            + (f"; details are in {log}" if log else "")
        )
    return f"Spark did not start on master '{master}': {problem}"

"""A Java class of ours in place of Hadoop's local file system.

Hadoop starts `chmod` for each file and folder that it makes, some fifteen times in a micro-batch; the class sets
permissions itself. Spark takes some names of files for patterns; the class shows it others (see aliases.py).
`make setup` compiles it, or `python -m millstream.mill.make_java_files`; without it, Hadoop does as it does.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from millstream.spark.process.user_cache import cache_path, is_own

CLASS_NAME = "millstream.LocalFiles"
SOURCE = Path(__file__).with_name("LocalFiles.java")

IMPLEMENTATION = "spark.hadoop.fs.file.impl"
"""The setting that names the class."""

CLASS_PATH = "SPARK_DIST_CLASSPATH"
"""Where Spark looks for classes besides its own: in the environment, so that what users configure stays as it is."""


def jar_path() -> Path:
    """Where the compiled class is kept: one for each text of it."""
    return cache_path("files.jar", SOURCE.read_text(encoding="utf-8"))


def use_local_files() -> dict[str, str]:
    """Put the class where Spark's next process finds it; the settings with which it is taken, or none without it."""
    path = jar_path()
    if not is_own(path):
        return {}
    known = os.environ.get(CLASS_PATH, "").split(os.pathsep)
    if str(path) not in known:
        os.environ[CLASS_PATH] = os.pathsep.join(filter(None, (*known, str(path))))
    return {IMPLEMENTATION: CLASS_NAME}


def reads_any_name(spark: SparkSession) -> bool:
    """Whether Spark has the class, and reads files whose names are patterns."""
    return spark.conf.get(IMPLEMENTATION, None) == CLASS_NAME


def compile_local_files(jvm: Any) -> Path:
    """Compile the class, with the compiler that Spark has for what it generates."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(SOURCE.read_text(encoding="utf-8"))
    classes = compiler.getBytecodes()
    path = jar_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = path.with_suffix(f".{os.getpid()}")
    with zipfile.ZipFile(made, "w") as jar:
        for name in sorted(classes.keySet()):
            jar.writestr(f"{name.replace('.', '/')}.class", bytes(classes[name]))
    made.chmod(0o600)
    made.replace(path)
    return path

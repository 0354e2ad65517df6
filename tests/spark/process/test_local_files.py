"""The file system of this machine as Spark sees it: permissions are those that Hadoop would set."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.spark.process import local_files
from millstream.spark.process.local_files import CLASS_NAME, CLASS_PATH, compile_local_files, jar_path, use_local_files


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(CLASS_PATH, "/of/the/user/*")
    return tmp_path


def test_without_the_class_nothing_is_changed(cache: Path) -> None:
    assert use_local_files() == {}
    assert os.environ[CLASS_PATH] == "/of/the/user/*"


def test_a_class_that_others_could_have_written_is_left_alone(cache: Path) -> None:
    jar_path().parent.mkdir()
    jar_path().touch(0o600)
    assert use_local_files() == {"spark.hadoop.fs.file.impl": CLASS_NAME}
    assert use_local_files()
    assert os.environ[CLASS_PATH] == f"/of/the/user/*:{jar_path()}"
    jar_path().chmod(0o602)
    assert use_local_files() == {}


def test_another_text_is_another_class(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = jar_path()
    (cache / "changed.java").write_text("class Other {}", encoding="utf-8")
    monkeypatch.setattr(local_files, "SOURCE", cache / "changed.java")
    assert jar_path() != before


@pytest.mark.spark
def test_files_get_their_permissions_without_a_process(spark: SparkSession, cache: Path) -> None:
    jvm: Any = spark.sparkContext._jvm
    jar = compile_local_files(jvm)
    urls = spark.sparkContext._gateway.new_array(jvm.java.net.URL, 1)  # type: ignore[union-attr]
    urls[0] = jvm.java.io.File(str(jar)).toURI().toURL()
    files = jvm.java.net.URLClassLoader(urls).loadClass(CLASS_NAME).getConstructors()[0].newInstance(None)
    conf = jvm.org.apache.hadoop.conf.Configuration()
    files.initialize(jvm.java.net.URI("file:///"), conf)
    path, permission = jvm.org.apache.hadoop.fs.Path, jvm.org.apache.hadoop.fs.permission.FsPermission
    for name, mode in (("a b", 0o640), ("ä[1]", 0o1755)):
        made = cache / name
        made.touch()
        files.setPermission(path(f"file:{made}"), permission(mode))
        assert stat.S_IMODE(made.stat().st_mode) == mode
    files.mkdirs(path(f"file:{cache}/deep/er"), permission(0o700))
    assert stat.S_IMODE((cache / "deep/er").stat().st_mode) == 0o700
    files.create(path(f"file:{cache}/new"), True).close()
    assert stat.S_IMODE((cache / "new").stat().st_mode) == 0o644

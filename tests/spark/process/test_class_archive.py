"""The archive of Spark's classes is used if it is ours, and never spoken of by a JVM."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from millstream.spark.process.class_archive import archive_path, java_options


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = archive_path()
    path.parent.mkdir()
    return path


def test_without_an_archive_nothing_is_asked_for(archive: Path) -> None:
    assert java_options() == ""


def test_an_archive_that_others_could_have_written_is_left_alone(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.write_bytes(b"")
    archive.chmod(0o600)
    assert f"-XX:SharedArchiveFile={archive} " in java_options()
    archive.chmod(0o620)
    assert java_options() == ""
    archive.chmod(0o600)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert java_options() == ""


def test_another_installation_has_another_archive(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/elsewhere")
    assert archive_path() != archive


def test_a_jvm_starts_without_a_word_where_the_archive_does_not_fit(archive: Path) -> None:
    archive.write_bytes(b"not an archive" * 1000)
    archive.chmod(0o600)
    java = shutil.which("java", path=f"{os.environ.get('JAVA_HOME', '')}/bin:{os.environ['PATH']}")
    assert java is not None
    told = subprocess.run([java, *java_options().split(), "-version"], capture_output=True, text=True, check=True)
    assert told.stdout == ""
    assert "archive" not in told.stderr

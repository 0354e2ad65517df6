"""Places that cannot be used are told of in a sentence, never by an exception of Python's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.cli.main import main
from millstream.errors import RunError
from millstream.mill import connect


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("/dev/null/x", "cannot be used: /dev/null is a file"),
        ("file", "file is a file\nhelp: name a folder"),
        ("a\0b", "cannot be used: embedded null byte"),
        ("x" * 300, "cannot be used: File name too long"),
        ("loop", "cannot be used: Too many levels of symbolic links"),
    ],
)
def test_checkpoint_folders(place: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(RunError) as refused:
        connect(tmp_path / place)
    assert str(refused.value).startswith("the checkpoint folder ")
    assert told in str(refused.value)


def test_the_command_tells_them_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.esl").write_text("SHOW STREAMS;")
    assert main(["run", str(tmp_path / "x.esl"), "--checkpoint", "/dev/null/x"]) == 1
    assert "the checkpoint folder /dev/null/x cannot be used: /dev/null is a file" in capsys.readouterr().err
    assert main(["run", "/dev/null/x.esl"]) == 1
    assert "the script /dev/null/x.esl cannot be read: Not a directory" in capsys.readouterr().err

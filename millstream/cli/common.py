"""Parts that several sub-commands share: arguments, and reading a script."""

from __future__ import annotations

import argparse
from pathlib import Path

from millstream.errors import SettingError


def add_spark_arguments(parser: argparse.ArgumentParser, checkpoint: bool = True) -> None:
    """Where and how Spark runs; `checkpoint`, also where what must outlive a run is kept."""
    parser.add_argument(
        "--master",
        default="local[*]",
        metavar="URL",
        help="the Spark master (default: local[*], all cores of this machine)",
    )
    if checkpoint:
        parser.add_argument(
            "--checkpoint",
            metavar="DIR",
            type=Path,
            help="folder that carries queries across restarts (default: a temporary one)",
        )
    parser.add_argument(
        "--conf",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a Spark setting, as spark.driver.memory=4g; may be given several times",
    )


def spark_conf(pairs: list[str]) -> dict[str, str]:
    """The settings of --conf.

    >>> spark_conf(["spark.driver.memory=4g"])
    {'spark.driver.memory': '4g'}
    """
    conf = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.startswith("spark."):
            raise SettingError(f"--conf {pair} is not a Spark setting\nhelp: write --conf spark.driver.memory=4g")
        conf[key] = value
    return conf


def read_script(path: Path) -> str:
    """The text of a script."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SettingError(f"there is no script {path}") from None
    except IsADirectoryError:
        raise SettingError(f"{path} is a folder, not a script") from None
    except UnicodeDecodeError:
        raise SettingError(f"{path} is not text in UTF-8") from None
    except OSError as problem:
        raise SettingError(f"the script {path} cannot be read: {problem.strerror}") from None

"""What a process has imported is out of the collector's sight. Each process has a collector of its own."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc, sys
from millstream.spark.stage.garbage_collector import freeze_imported_modules
assert gc.get_freeze_count() == 0
freeze_imported_modules()
first = gc.get_freeze_count()
assert first > len(sys.modules)
kept = [[] for _ in range(1000)]
freeze_imported_modules()
assert gc.get_freeze_count() <= first, "nothing was imported"
import fractions
freeze_imported_modules()
assert gc.get_freeze_count() > first, "something was imported"
"""


def test_modules_are_looked_through_once() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)

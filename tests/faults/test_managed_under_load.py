"""Queries of all kinds come and go under load while the mill is killed again and again: all that is answered is exact.

The end is compared with DuckDB, over all rows that came. MILLSTREAM_THOROUGH=1 kills more often; with MILLSTREAM_SEED=7
the draws of a failure come again, though not the moments of the kills.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.drawing import THOROUGH
from tests.faults.under_load.run import Run

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.timeout(3600 if THOROUGH else 300)]

KILLS = 6 if THOROUGH else 2
STATEMENTS = (4, 14) if THOROUGH else (3, 6)


@pytest.mark.usefixtures("spark")
def test_queries_come_and_go_under_load_while_the_mill_is_killed(tmp_path: Path) -> None:
    seed = int(os.environ.get("MILLSTREAM_SEED", os.getpid()))
    run = Run(tmp_path, seed)
    run.files.start()
    run.pushes.start()
    try:
        for number in range(KILLS):
            run.live(number, STATEMENTS)
        run.end()
    except BaseException as problem:
        problem.add_note("\n".join([f"MILLSTREAM_SEED={seed}", *run.said]))
        raise
    finally:
        run.files.end()
        run.pushes.end()

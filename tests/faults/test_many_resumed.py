"""A mill with many queries of all kinds, alone and in hosts, is killed, and resumes them all by itself.

MILLSTREAM_THOROUGH=1 has fifty of them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path

import pytest

from tests.drawing import THOROUGH
from tests.faults.under_load.kinds import (
    FED,
    IN_COMPANY,
    INTO_FED,
    INTO_SINGLE,
    KEPT_WINDOWS,
    KINDS,
    OVER,
    TEMPLATE,
    VIEW,
)
from tests.faults.under_load.run import Run

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.timeout(1200 if THOROUGH else 300)]

ALONE = (
    [kind for kind in KINDS if kind not in (*IN_COMPANY, INTO_SINGLE)]
    if THOROUGH
    else [*(INTO_FED, FED, VIEW, KEPT_WINDOWS, OVER, TEMPLATE)]
)
EACH = 24 if THOROUGH else 5
"""So many in hosts, and so many alone; two more are always there."""


@pytest.mark.usefixtures("spark")
def test_a_killed_mill_resumes_all_its_queries(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    run = Run(tmp_path, 1)
    for _ in range(8):
        run.files.put_next()
    half = (EACH + 1) // 2
    run.make(
        [
            list(islice(cycle(IN_COMPANY), half)),
            list(islice(cycle(IN_COMPANY), EACH - half)),
            *([kind] for kind in islice(cycle(ALONE), EACH)),
        ],
        seconds=1.0,
    )
    run.files.put_next()
    run.end()
    seconds, queries = run.resumed
    record_property("seconds to resume", seconds)
    assert queries == 2 * EACH + 2

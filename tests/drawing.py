"""How many cases property tests draw: a few in each run, all of them with MILLSTREAM_THOROUGH=1 (`make thorough`).

Each run draws the same cases, so that a test fails because of a change and not by chance; `make thorough` draws others.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

THOROUGH = os.environ.get("MILLSTREAM_THOROUGH", "") not in {"", "0"}


def rounds(count: int) -> int:
    """How many of so many rounds are run."""
    return count if THOROUGH else min(count, max(4, count // 6))


def drawn(count: int) -> settings:
    """The settings of a property test that draws so many cases; a busy machine makes none of them fail."""
    checks = list(HealthCheck)
    return settings(max_examples=rounds(count), deadline=None, derandomize=not THOROUGH, suppress_health_check=checks)

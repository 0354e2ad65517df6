"""Failures of queries while a script runs: reported at once, and restarted on demand."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from millstream.errors import MillstreamError
from millstream.mill import Mill, RunningQuery
from millstream.spark.process.jvm import is_lost, last_word

RESTART, CONTINUE, STOP = "restart", "continue", "stop"
ON_FAILURE = (RESTART, CONTINUE, STOP)

FIRST_SECONDS, MOST_SECONDS = 1.0, 60.0
"""How long a query rests before it is started again: twice as long each time, up to a minute."""

WELL_SECONDS = 300.0
"""A query that ran so long before it failed rests as briefly as the first time."""

TRIES_ONCE = 5
"""How often a query that processes what is there is started again: what fails for good must come to an end."""


@dataclass
class _Trouble:
    """What is known of a query that has failed: how often, when it began last, and when it is to begin again."""

    times: int
    began: float
    again: float | None


class Watch:
    """Looks after the queries of a mill, one look at a time."""

    def __init__(
        self, mill: Mill, on_failure: str, complain: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._mill = mill
        self._on_failure = on_failure
        self._complain = complain
        self._clock = clock
        self._troubles: dict[str, _Trouble] = {}
        self._told: set[RunningQuery] = set()
        self.gave_up = False

    def look(self) -> bool:
        """Tell of new failures and start again what is due; whether anything still runs or will."""
        if is_lost():
            self._lose()
            return False
        runs = False
        for query in self._mill.queries:
            if query.is_active:
                runs = True
            elif query not in self._told and (failure := query.failure):
                if is_lost():
                    self._lose()
                    return False
                self._told.add(query)
                self._fail(query.name, failure)
        for name, trouble in self._troubles.items():
            if trouble.again is not None:
                runs = True
                if self._clock() >= trouble.again:
                    self._start(name, trouble)
        if self._on_failure == STOP and self.failed:
            self.gave_up = True
        return runs and not self.gave_up

    @property
    def failed(self) -> bool:
        """Whether a query has failed and not been started again."""
        return any(query in self._told for query in self._mill.queries)

    def _lose(self) -> None:
        """Everything ended with Spark's process: one sentence says it."""
        if not self.gave_up:
            self.gave_up = True
            self._told.update(self._mill.queries)
            self._complain(f"error: {last_word()}\nhelp: Spark's own log is {self._mill.home.spark_log}")

    def _fail(self, name: str, failure: str) -> None:
        trouble = self._troubles.setdefault(name, _Trouble(0, self._clock(), None))
        ran_well = self._clock() - trouble.began > WELL_SECONDS
        trouble.times = 1 if ran_well else trouble.times + 1
        rest = min(FIRST_SECONDS * 2 ** (trouble.times - 1), MOST_SECONDS)
        again = self._on_failure == RESTART and not (self._mill.once and trouble.times > TRIES_ONCE)
        trouble.again = self._clock() + rest if again else None
        then = {STOP: "; all queries are stopped", CONTINUE: ""}.get(self._on_failure, "; it is left alone now")
        if again:
            then = f"; it is started again in {rest:.0f} s"
        log = f"help: Spark's own log is {self._mill.home.spark_log}"
        self._complain(f"error: query {name} failed: {failure}{_append_text(failure, then)}\n{log}")

    def _start(self, name: str, trouble: _Trouble) -> None:
        trouble.again, trouble.began = None, self._clock()
        try:
            self._mill.restart(name)
        except MillstreamError as problem:
            self._fail(name, str(problem).removeprefix("error: "))


def _append_text(failure: str, then: str) -> str:
    r"""What follows a reason: on a line of its own if the reason has several.

    >>> _append_text("a\nhelp: b", "; it is stopped"), _append_text("a", "; it is stopped"), _append_text("a", "")
    ('\nit is stopped', '; it is stopped', '')
    """
    return then if "\n" not in failure or not then else "\n" + then.removeprefix("; ")

"""The process in which one engine runs: takes requests as lines of JSON, and answers each with one line."""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from millstream.errors import MillstreamError
from millstream_bench.harness.workload import Job, Setting, Workload


class Closing(Protocol):
    """Something that lets go of its engine at the end."""

    def close(self) -> None:
        """Let go of it."""
        ...


Answering = Callable[[str], dict[str, Any]]
"""Does what a line asks for; the values of the answer."""


def main(workload: str, engine: str, setting: str) -> int:
    """One workload in the hands of one engine."""

    def start() -> tuple[Closing, Answering]:
        found: Workload = importlib.import_module(f"millstream_bench.workloads.{workload}").WORKLOAD
        given = Setting(**json.loads(setting))
        job = found.engines[engine](given)
        return job, lambda request: _do(found, job, given, request)

    return serve(start)


def serve(start: Callable[[], tuple[Closing, Answering]]) -> int:
    """Serve until standard input ends, so that no worker outlives the one who asked for it."""
    # Whatever the engine prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(**values: Any) -> None:
        answers.write(json.dumps(values) + "\n")
        answers.flush()

    job: Closing | None = None
    try:
        job, do = start()
        answer(ready=True)
        for line in sys.stdin:
            answer(**do(line.strip()))
    except MillstreamError as problem:
        answer(error=str(problem))
        return 1
    except Exception as problem:
        traceback.print_exc()
        answer(error=f"{type(problem).__name__}: {problem}")
        return 1
    finally:
        if job is not None:
            job.close()
    return 0


def _do(workload: Workload, job: Job, setting: Setting, request: str) -> dict[str, Any]:
    if request == "run":
        return {"seconds": job.run()}
    if request == "results":
        with tempfile.TemporaryDirectory(prefix="bench-results-") as place:
            folder = Path(place) / "rows"
            job.write_results(folder)
            return {"rows": _count(folder), "digest": workload.digest(folder, setting)}
    if request == "notes":
        return {"notes": job.notes()}
    raise ValueError(f"no request '{request}'")


def _count(folder: Path) -> int:
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(file).num_rows for file in folder.glob("[!._]*.parquet"))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

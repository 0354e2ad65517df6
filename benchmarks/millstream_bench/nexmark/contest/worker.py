"""The process in which one engine runs the NEXMark queries: a request is a line of JSON, and so is its answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from millstream_bench.harness.worker import Answering, Closing, serve
from millstream_bench.harness.workload import Setting
from millstream_bench.nexmark.contest.suite import Suite


def main(workload: str, engine: str, setting: str) -> int:
    """Serve one engine; its queries are all of one workload."""

    def start() -> tuple[Closing, Answering]:
        from millstream_bench.nexmark.contest.measure import ENGINES

        suite = ENGINES[engine].start(Setting(**json.loads(setting)))
        return suite, lambda line: _do(suite, json.loads(line))

    return serve(start)


def _do(suite: Suite, request: dict[str, Any]) -> dict[str, Any]:
    match request["do"]:
        case "run":
            return {"seconds": suite.run(request["query"])}
        case "keep":
            return {"sums": suite.keep(request["query"], Path(request["folder"]))}
        case "notes":
            return {"notes": suite.notes()}
    raise ValueError(f"no request '{request['do']}'")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

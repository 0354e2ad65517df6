"""What all programs in Flink's own Python share: they have no Millstream, and find this file because it lies beside."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

Answering = Callable[[dict[str, Any]], dict[str, Any]]
"""Does what a request asks for; the values of the answer."""


def serve(start: Callable[[], Answering]) -> int:
    """Answer each line of standard input by one line, until it ends."""
    # Whatever Flink prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(values: dict[str, Any]) -> None:
        answers.write(json.dumps(values) + "\n")
        answers.flush()

    try:
        do = start()
        answer({"ready": True})
        for line in sys.stdin:
            answer(do(json.loads(line)))
    except Exception as problem:
        traceback.print_exc()
        told = [line for line in str(problem).splitlines() if line and not line.startswith("\t")]
        answer({"error": "; ".join(told[:4])})
        return 1
    return 0


def one_job(program: Any) -> Answering:
    """The answers of a program with one job: run it, run it into a folder, or scan its sources alone."""

    def do(request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "results":
            program.results(request["folder"])
            return {"done": True}
        return {"seconds": program.scan() if request["do"] == "scan" else program.run()}

    return do

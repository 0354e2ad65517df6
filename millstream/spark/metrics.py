"""The names of what a query tells of itself while it runs, among the metrics of Spark."""

from __future__ import annotations

ARRIVALS = "millstream.arrivals."
STAGE = "millstream.stage."
"""What the marks of a stage say: WAITS; WORK and the bucket; for each input LATE, REJECTED, HEARD, PASSED and NEWEST,
its number, and its stream or stage."""

READ = "millstream.read."
"""What a stage has read by itself, behind it the numbers of the stage and of the input, and the stream: Spark, which
counts files there, is told the rows. `bad` ones are rejected."""

WAITS = "waits"
LATE = "late."
HEARD = "heard."
PASSED = "passed."
REJECTED = "rejected."
NEWEST = "newest."
WORK = "work."

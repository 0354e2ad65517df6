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
TUPLES = "tuples."
MICROS = "micros."
"""Of each input of a stage: the tuples that were exchanged, and the microseconds of work on them before."""

BYTES = "bytes"
OUT = "out"
STATE = "state"
"""Of a stage: the bytes of packets that came, the rows that were answered, and the bytes that are kept now."""

STEP = "millstream.step."
"""What steps have given that Spark carries out, each counted by its number: only where a plan is analyzed."""

ROWS = "rows"

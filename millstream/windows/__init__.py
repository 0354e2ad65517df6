"""The kinds of windows: their definitions, and the vectorised assignment of tuples to windows."""

from __future__ import annotations

from millstream.windows.contract import Window
from millstream.windows.cumulate import Cumulate
from millstream.windows.landmark import Landmark
from millstream.windows.over import Frames, Over
from millstream.windows.over_range import OverRange
from millstream.windows.over_rows import OverRows
from millstream.windows.panes import Paned
from millstream.windows.rows import Rows
from millstream.windows.session import Session
from millstream.windows.slide_by_tuple import SlideByTuple
from millstream.windows.sliding import Sliding
from millstream.windows.tumbling import tumbling
from millstream.windows.tuples import Tuple
from millstream.windows.whole import Whole

__all__ = [
    "Cumulate",
    "Frames",
    "Landmark",
    "Over",
    "OverRange",
    "OverRows",
    "Paned",
    "Rows",
    "Session",
    "SlideByTuple",
    "Sliding",
    "Tuple",
    "Whole",
    "Window",
    "tumbling",
]

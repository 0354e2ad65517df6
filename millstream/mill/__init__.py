"""The running system: statements carried out, queries started, watched and stopped."""

from millstream.mill.answers import Answer
from millstream.mill.mill import Mill, connect
from millstream.mill.running import RunningQuery

__all__ = ["Answer", "Mill", "RunningQuery", "connect"]

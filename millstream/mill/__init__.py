"""The running system: carries out statements; starts, watches and stops queries."""

from millstream.mill.answers import Answer
from millstream.mill.mill import Mill, connect
from millstream.mill.running import RunningQuery

__all__ = ["Answer", "Mill", "RunningQuery", "connect"]

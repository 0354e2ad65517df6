"""The running system: carries out statements; starts, watches and stops queries."""

from millstream.mill.answers import Answer
from millstream.mill.engine.running import RunningQuery
from millstream.mill.mill import Mill, connect

__all__ = ["Answer", "Mill", "RunningQuery", "connect"]

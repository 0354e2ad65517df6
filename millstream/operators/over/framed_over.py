"""The base of the operators of OVER: the order of tuples, and the slide by which only some answer."""

from __future__ import annotations

from millstream.errors import SettingError
from millstream.operators.blobs import Blobs
from millstream.operators.ordered.ordered import Ordered
from millstream.operators.over.over_aggregate_job import OverAggregateJob
from millstream.windows.tuples import Order


class FramedOver(Ordered):
    """One bucket of OVER calls. With a slide of time a slot answers when it is over, so that nothing is settled in it.

    `_slots` are those of such a slide, if there is one; `_every` says which tuples answer where rows are counted.
    """

    def __init__(self, work: OverAggregateJob, blobs: Blobs) -> None:
        super().__init__(work.partition_names, blobs, _order(work))
        self._work = work
        window = work.calls[0].window
        self._slots = window.slots
        self._every = window.every

    @property
    def promise(self) -> int | None:
        """The low-watermark, or the start of the slide that holds it."""
        return None if self.low_watermark is None else self._bound(self.low_watermark)

    def _bound(self, time: int) -> int:
        return time if self._slots is None else self._slots.start(time)


def _order(work: OverAggregateJob) -> Order:
    """The order that all frames have in common; they have the same slide, too."""
    windows = [framed.window for framed in work.calls]
    orders = {w.ranked_by for w in windows}
    if len(orders) > 1 or len({(w.slots, w.every) for w in windows}) > 1:
        raise SettingError("frames of one SELECT must have the same slide, and all go by arrival or all by time")
    return "row" if orders == {"row"} else "rank"

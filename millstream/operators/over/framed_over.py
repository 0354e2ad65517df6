"""What all operators of OVER have in common: the order of their tuples, and the slide by which only some answer."""

from __future__ import annotations

from millstream.errors import SettingError
from millstream.operators.blobs import Blobs
from millstream.operators.ordered.ordered import Ordered
from millstream.operators.over.framed import Framed
from millstream.windows.over import OverRange, OverRows
from millstream.windows.tuples import Order


class FramedOver(Ordered):
    """One bucket of OVER calls. With a slide of time a slot answers when it is over, so that nothing is settled in it.

    `_slots` is the frame that has such a slide, if any; `_every` says which tuples answer where rows are counted.
    """

    def __init__(self, work: Framed, blobs: Blobs) -> None:
        super().__init__(work.partition_names, blobs, _order(work))
        self._work = work
        window = work.calls[0].window
        self._slots = window if isinstance(window, OverRange) and window.slide is not None else None
        self._every = _rows(window)

    @property
    def promise(self) -> int | None:
        """The low-watermark, or the start of the slide that holds it."""
        return None if self.low_watermark is None else self._bound(self.low_watermark)

    def _bound(self, time: int) -> int:
        return time if self._slots is None else time - (time - self._slots.origin) % (self._slots.slide or 1)


def _order(work: Framed) -> Order:
    """The order that all frames have in common; they have the same slide, too."""
    windows = [framed.window for framed in work.calls]
    orders = {w.order if isinstance(w, OverRows) else "rank" for w in windows}
    slides = {(w.slide, w.origin) if isinstance(w, OverRange) and w.slide is not None else _rows(w) for w in windows}
    if len(orders) > 1 or len(slides) > 1:
        raise SettingError("frames of one SELECT must have the same slide, and all go by arrival or all by time")
    return "row" if orders == {"row"} else "rank"


def _rows(window: OverRange | OverRows) -> int:
    return window.slide if isinstance(window, OverRows) else 1

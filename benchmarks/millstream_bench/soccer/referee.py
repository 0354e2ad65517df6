"""The referee's files of interruptions, in the form of the challenge."""

from __future__ import annotations

from typing import Final

from millstream_bench.soccer.clock import Span

_HEADER: Final = "event_id;event_name;event_time_real;event_counter;comment"
_NAME: Final = "Game Interruption"
_IDS: Final = {1: (2010, 2011), 2: (6014, 6015)}


def referee_file(half: Span, interruptions: tuple[Span, ...]) -> bytes:
    r"""The file of a half: times from its start, and some statistics after a blank line.

    An interruption that lasts until the half ends has no end of its own.

    >>> text = referee_file(Span(1, 0, 90_000_000), (Span(1, 61_002_000, 65_000_000),)).decode("iso-8859-1")
    >>> text.split("\r\n")[1:3]
    ['2010;Game Interruption Begin;00:01:01.002;1;', '2011;Game Interruption End;00:01:05.000;1;']
    """
    own = sorted((s for s in interruptions if s.half == half.half), key=lambda s: s.begins)
    begin, end = _IDS[half.half]
    lines = [_HEADER]
    for counter, stop in enumerate(own, start=1):
        lines.append(f"{begin};{_NAME} Begin;{_clock(stop.begins - half.begins)};{counter};")
        if stop.ends < half.ends:
            lines.append(f"{end};{_NAME} End;{_clock(stop.ends - half.begins)};{counter};")
    total = sum(s.ends - s.begins for s in own)
    lines += ["", "Statistics", f"Number of interruptions;{len(own)}", f"Total time;{_clock(total)}", ""]
    return "\r\n".join(lines).encode("iso-8859-1")


def _clock(micros: int) -> str:
    """Hours, minutes, seconds and milliseconds, or 0.

    >>> _clock(0), _clock(3_723_004_900)
    ('0', '01:02:03.005')
    """
    millis = round(micros / 1000)
    if not millis:
        return "0"
    return f"{millis // 3_600_000:02d}:{millis // 60_000 % 60:02d}:{millis // 1000 % 60:02d}.{millis % 1000:03d}"

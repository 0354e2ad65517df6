"""Makes the data of an auction house: the same seed gives the same rows, about one in a hundred of them broken."""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

OPEN_HEADER = "item_id,seller_id,price,start_time\n"
FIRST_TIME = datetime(2026, 1, 1, 9, 0, 0)  # a time without a zone means UTC
DISORDER_SECONDS = 4.0
BROKEN_SHARE = 0.01
PEOPLE = ("ann", "bob", "cleo", "dora", "emil", "fay", "gus", "hana", "ivo", "june")


@dataclass(frozen=True)
class Made:
    """One line of input; whether it is a row of its stream, and its price if it is."""

    line: str
    good: bool
    price: float


@dataclass(frozen=True)
class Tick:
    """What happens in the house within a moment."""

    opened: list[Made]
    closed: list[Made]
    bids: list[Made]


class AuctionHouse:
    """Opens auctions, takes bids and closes auctions, moment by moment."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._now = FIRST_TIME
        self._next_item = 1
        self._prices: dict[int, float] = {}

    def tick(self, opened: int = 50, closed: int = 25, bids: int = 500, seconds: float = 1.0) -> Tick:
        """The next moment: so many auctions that open and close and so many bids."""
        self._now += timedelta(seconds=seconds)
        return Tick(
            [self._opening() for _ in range(opened)],
            [self._closing() for _ in range(closed)],
            [self._bid() for _ in range(bids)],
        )

    def _opening(self) -> Made:
        item, self._next_item = self._next_item, self._next_item + 1
        price = round(self._random.lognormvariate(5.0, 1.2), 2)
        self._prices[item] = price
        # Rows are late by less than the slack that the stream allows.
        time = self._now - timedelta(seconds=self._random.uniform(0, DISORDER_SECONDS))
        fields = [str(item), self._person(), f"{price:.2f}", time.isoformat(timespec="milliseconds")]
        if not self._broken():
            return Made(",".join(fields), True, price)
        kind = self._random.randrange(4)
        if kind == 3:
            return Made(",".join(fields[:2]), False, price)
        fields[(0, 2, 3)[kind]] = ("lot 7b", "ask us", "yesterday")[kind]
        return Made(",".join(fields), False, price)

    def _closing(self) -> Made:
        item = self._item()
        return self._object({"item_id": item, "buyer_id": self._person(), "price": self._raised(item)})

    def _bid(self) -> Made:
        item = self._item()
        return self._object({"item_id": item, "price": self._raised(item), "bidder_id": self._person()})

    def _object(self, row: dict[str, object]) -> Made:
        price = float(str(row["price"]))
        if not self._broken():
            return Made(json.dumps(row), True, price)
        kind = self._random.randrange(3)
        if kind == 2:
            return Made(json.dumps(row)[:-12], False, price)
        row[("item_id", "price")[kind]] = ("n/a", "a lot")[kind]
        return Made(json.dumps(row), False, price)

    def _item(self) -> int:
        # Newer auctions draw more bids.
        return max(1, self._next_item - 1 - int(self._random.expovariate(1 / 40)))

    def _raised(self, item: int) -> float:
        return round(self._prices.get(item, 100.0) * self._random.uniform(1.0, 2.0), 2)

    def _person(self) -> str:
        return f"{self._random.choice(PEOPLE)}{self._random.randrange(100)}"

    def _broken(self) -> bool:
        return self._random.random() < BROKEN_SHARE


def text_of(rows: Sequence[Made], header: str = "") -> str:
    """The lines of a file."""
    return header + "".join(f"{row.line}\n" for row in rows)


def publish(file: Path, text: str) -> None:
    """Write a file so that whoever follows its folder sees it whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f".{file.name}.part")
    aside.write_text(text, encoding="utf-8")
    aside.rename(file)


def write_files(folder: Path, number: int, tick: Tick) -> None:
    """Put what comes as files into the folders that the streams follow."""
    publish(folder / "open" / f"{number:05d}.csv", text_of(tick.opened, OPEN_HEADER))
    publish(folder / "bids" / f"{number:05d}.json", text_of(tick.bids))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write files for a number of moments."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(__file__).parent / "out" / "data"
    parser.add_argument("folder", nargs="?", type=Path, default=default, metavar="DIR", help="where to write")
    parser.add_argument("--ticks", type=int, default=20, help="how many files of each kind (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other rows (%(default)s)")
    parsed = parser.parse_args(arguments)
    house = AuctionHouse(parsed.seed)
    closed: list[Made] = []
    rows = 0
    for number in range(parsed.ticks):
        tick = house.tick()
        write_files(parsed.folder, number, tick)
        closed += tick.closed
        rows += len(tick.opened) + len(tick.bids) + len(tick.closed)
    publish(parsed.folder / "closed.jsonl", text_of(closed))
    print(f"{rows} rows in {parsed.folder}: open/*.csv, bids/*.json, and closed.jsonl to push over a socket")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

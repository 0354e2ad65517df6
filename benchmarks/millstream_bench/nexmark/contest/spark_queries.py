"""The NEXMark queries written by hand for Spark: what a user who knows Structured Streaming would write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

DELAY = "4 seconds"
SCHEMAS = {
    "person": "id LONG, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, "
    "dateTime TIMESTAMP, extra STRING",
    "auction": "id LONG, itemName STRING, description STRING, initialBid LONG, reserve LONG, dateTime TIMESTAMP, "
    "expires TIMESTAMP, seller LONG, category LONG, extra STRING",
    "bid": "auction LONG, bidder LONG, price LONG, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING",
}


@dataclass(frozen=True)
class Events:
    """The events as Spark reads them."""

    spark: SparkSession
    data: str
    files_per_batch: int

    def read(self, kind: str) -> DataFrame:
        """The stream of one kind, without a watermark: all that a query without state needs."""
        reader = self.spark.readStream.schema(SCHEMAS[kind]).option("maxFilesPerTrigger", self.files_per_batch)
        return reader.parquet(f"{self.data}/{kind}")

    def timed(self, kind: str) -> DataFrame:
        """The stream of one kind with its watermark."""
        return self.read(kind).withWatermark("dateTime", DELAY)

    def side(self) -> DataFrame:
        """The table of q13."""
        return self.spark.read.schema("key LONG, value STRING").parquet(f"{self.data}/side")


@dataclass(frozen=True)
class SparkQuery:
    """A query: its frame, and the columns by which a later row replaces an earlier one, if it updates its rows."""

    rows: Callable[[Events], DataFrame]
    keys: tuple[str, ...] = ()

    @property
    def mode(self) -> str:
        """Spark's output mode."""
        return "update" if self.keys else "append"


def q0(events: Events) -> DataFrame:
    """Bids, unchanged."""
    return events.read("bid").select("auction", "bidder", "price", "dateTime", "extra")


def q1(events: Events) -> DataFrame:
    """Prices in euro."""
    euro = "CAST(0.908 * price AS DECIMAL(23, 3)) AS price"
    return events.read("bid").selectExpr("auction", "bidder", euro, "dateTime", "extra")


def q2(events: Events) -> DataFrame:
    """Bids on some auctions."""
    return events.read("bid").where("auction % 123 = 0").select("auction", "price")


def q3(events: Events) -> DataFrame:
    """A join of two streams without bounds: both are kept for ever."""
    from pyspark.sql import functions as F  # noqa: N812

    auctions = events.read("auction").where("category = 10").select(F.col("id").alias("auction_id"), "seller")
    people = events.read("person").where("state IN ('OR', 'ID', 'CA')").select("id", "name", "city", "state")
    joined = auctions.join(people, F.col("seller") == F.col("id"))
    return joined.select("name", "city", "state", F.col("auction_id").alias("id"))


def q5(events: Events) -> DataFrame:
    """Two aggregations in a row: the second one gathers the counts of a window, which spares a join with itself."""
    from pyspark.sql import functions as F  # noqa: N812

    counted = (
        events.timed("bid")
        .groupBy("auction", F.window("dateTime", "10 seconds", "2 seconds"))
        .agg(F.count("*").alias("num"))
    )
    windows = counted.groupBy("window").agg(
        F.max("num").alias("most"), F.collect_list(F.struct("auction", "num")).alias("counts")
    )
    return windows.select(F.inline(F.expr("filter(counts, one -> one.num = most)")))


def q7(events: Events) -> DataFrame:
    """The highest price of each window, joined with the bids of that time; both ends belong to the window."""
    from pyspark.sql import functions as F  # noqa: N812

    highest = (
        events.timed("bid")
        .groupBy(F.window("dateTime", "10 seconds"))
        .agg(F.max("price").alias("high"))
        # A microsecond before the end of the window: the one time that Spark follows beyond an aggregation.
        .select("high", F.window_time("window").alias("last"))
    )
    near = F.expr(
        "price = high AND dateTime >= last - INTERVAL '9.999999' SECONDS"
        " AND dateTime <= last + INTERVAL '0.000001' SECONDS"
    )
    bids = events.timed("bid").select("auction", "price", "bidder", "dateTime", "extra")
    return bids.join(highest, near).select("auction", "price", "bidder", "dateTime", "extra")


def q8(events: Events) -> DataFrame:
    """A semi-join within the same window: no duplicates need be taken out."""
    from pyspark.sql import functions as F  # noqa: N812

    window = F.window("dateTime", "10 seconds")
    people = events.timed("person").select("id", "name", window.alias("window")).alias("p")
    auctions = events.timed("auction").select("seller", window.alias("window")).alias("a")
    same = F.expr("p.id = a.seller AND p.window = a.window")
    return people.join(auctions, same, "left_semi").select("id", "name", F.col("window.start").alias("starttime"))


def q9(events: Events) -> DataFrame:
    """A join within the life of the auction, and of its bids the least record: it begins with the price, negated."""
    from pyspark.sql import functions as F  # noqa: N812

    auctions = events.timed("auction").withColumnsRenamed({"dateTime": "opened", "extra": "auction_extra"})
    joined = auctions.join(events.timed("bid"), F.expr("id = auction AND dateTime BETWEEN opened AND expires"))
    best = F.min(F.struct((-F.col("price")).alias("price"), "dateTime", "bidder", "extra")).alias("best")
    return (
        joined.groupBy(*auctions.columns)
        .agg(best)
        .selectExpr(
            *("id", "itemName", "description", "initialBid", "reserve", "opened AS dateTime", "expires", "seller"),
            *("category", "auction_extra AS extra", "id AS auction", "best.bidder", "-best.price AS price"),
            *("best.dateTime AS bid_dateTime", "best.extra AS bid_extra"),
        )
    )


def q10(events: Events) -> DataFrame:
    """Bids with their day and minute, by which the sink parts them."""
    day, minute = "date_format(dateTime, 'yyyy-MM-dd') AS dt", "date_format(dateTime, 'HH:mm') AS hm"
    return events.read("bid").selectExpr("auction", "bidder", "price", "dateTime", "extra", day, minute)


def q11(events: Events) -> DataFrame:
    """Sessions."""
    from pyspark.sql import functions as F  # noqa: N812

    counted = events.timed("bid").groupBy("bidder", F.session_window("dateTime", "10 seconds").alias("session"))
    return counted.agg(F.count("*").alias("bid_count")).selectExpr(
        "bidder", "bid_count", "session.start AS starttime", "session.end AS endtime"
    )


def q13(events: Events) -> DataFrame:
    """A join with a table."""
    from pyspark.sql import functions as F  # noqa: N812

    joined = events.read("bid").join(F.broadcast(events.side()), F.expr("auction % 10000 = key"))
    return joined.select("auction", "bidder", "price", "dateTime", "value")


def q14(events: Events) -> DataFrame:
    """A filter and some expressions."""
    return (
        events.read("bid")
        .where("0.908 * price > 1000000 AND 0.908 * price < 50000000")
        .selectExpr(
            "auction",
            "bidder",
            "CAST(0.908 * price AS DECIMAL(23, 3)) AS price",
            "CASE WHEN hour(dateTime) BETWEEN 8 AND 18 THEN 'dayTime' "
            "WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime' ELSE 'otherTime' END AS bidTimeType",
            "dateTime",
            "extra",
            "length(extra) - length(replace(extra, 'c', '')) AS c_counts",
        )
    )


def q15(events: Events) -> DataFrame:
    """All of a day; streams have no `count(DISTINCT)`, so sets are gathered and their sizes taken."""
    from pyspark.sql import functions as F  # noqa: N812

    days = events.timed("bid").groupBy(F.window("dateTime", "1 day"))
    return days.agg(*_counts(), *_distinct()).selectExpr(_DAY, *_RANKED)


def q16(events: Events) -> DataFrame:
    """All of a day and channel."""
    from pyspark.sql import functions as F  # noqa: N812

    days = events.timed("bid").groupBy("channel", F.window("dateTime", "1 day"))
    last = F.max("dateTime").alias("last")
    return days.agg(last, *_counts(), *_distinct()).selectExpr(
        "channel", _DAY, "date_format(last, 'HH:mm') AS minute", *_RANKED
    )


def q17(events: Events) -> DataFrame:
    """All of a day and auction."""
    from pyspark.sql import functions as F  # noqa: N812

    prices = [getattr(F, name)("price").alias(f"{name}_price") for name in ("min", "max", "avg", "sum")]
    days = events.timed("bid").groupBy("auction", F.window("dateTime", "1 day"))
    counts = ["total_bids", "rank1_bids", "rank2_bids", "rank3_bids"]
    return days.agg(*_counts(), *prices).selectExpr(
        "auction", _DAY, *counts, "min_price", "max_price", "avg_price", "sum_price"
    )


def q18(events: Events) -> DataFrame:
    """The last bid as the greatest of records that begin with the time."""
    from pyspark.sql import functions as F  # noqa: N812

    last = F.max(F.struct("dateTime", "price", "channel", "url", "extra")).alias("last")
    return (
        events.read("bid")
        .groupBy("auction", "bidder")
        .agg(last)
        .select("auction", "bidder", "last.price", "last.channel", "last.url", "last.dateTime", "last.extra")
    )


def q20(events: Events) -> DataFrame:
    """A join of two streams without bounds: both are kept for ever."""
    from pyspark.sql import functions as F  # noqa: N812

    auctions = events.read("auction").where("category = 10")
    for name in ("dateTime", "extra"):
        auctions = auctions.withColumnRenamed(name, f"auction_{name}")
    bids = events.read("bid")
    for name in ("dateTime", "extra"):
        bids = bids.withColumnRenamed(name, f"bid_{name}")
    return bids.join(auctions, F.col("auction") == F.col("id")).drop("id")


def q21(events: Events) -> DataFrame:
    """The channel as a number."""
    number = (
        "CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' "
        "THEN '3' ELSE nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '') END AS channel_id"
    )
    found = events.read("bid").selectExpr("auction", "bidder", "price", "channel", number)
    return found.where("channel_id IS NOT NULL")


def q22(events: Events) -> DataFrame:
    """The folders in the URL."""
    parts = [f"split_part(url, '/', {number + 3}) AS dir{number}" for number in (1, 2, 3)]
    return events.read("bid").selectExpr("auction", "bidder", "price", "channel", *parts)


_DAY = "date_format(window.start, 'yyyy-MM-dd') AS day"
_RANKS = {
    "total": "true",
    "rank1": "price < 10000",
    "rank2": "price >= 10000 AND price < 1000000",
    "rank3": "price >= 1000000",
}
_RANKED = [f"{rank}_{what}" for what in ("bids", "bidders", "auctions") for rank in _RANKS]


def _counts() -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812

    return [F.expr(f"count_if({condition})").alias(f"{rank}_bids") for rank, condition in _RANKS.items()]


def _distinct() -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812

    return [
        F.expr(f"size(collect_set({what}) FILTER (WHERE {condition}))").alias(f"{rank}_{what}s")
        for what in ("bidder", "auction")
        for rank, condition in _RANKS.items()
    ]


QUERIES = {
    "q0": SparkQuery(q0),
    "q1": SparkQuery(q1),
    "q2": SparkQuery(q2),
    "q3": SparkQuery(q3),
    "q5": SparkQuery(q5),
    "q7": SparkQuery(q7),
    "q8": SparkQuery(q8),
    "q9": SparkQuery(q9, ("id",)),
    "q10": SparkQuery(q10),
    "q11": SparkQuery(q11),
    "q13": SparkQuery(q13),
    "q14": SparkQuery(q14),
    "q15": SparkQuery(q15, ("day",)),
    "q16": SparkQuery(q16, ("channel", "day")),
    "q17": SparkQuery(q17, ("auction", "day")),
    "q18": SparkQuery(q18, ("auction", "bidder")),
    "q20": SparkQuery(q20),
    "q21": SparkQuery(q21),
    "q22": SparkQuery(q22),
}

LEFT_OUT = {
    "q4": "an aggregation of an aggregation whose rows change: Spark takes only one whose rows stay",
    "q6": "an aggregation of an aggregation whose rows change: Spark takes only one whose rows stay",
    "q12": "it depends on wall-clock time",
    "q19": "Spark ranks no rows of a stream, unless its state is programmed by hand",
}

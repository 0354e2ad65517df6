"""The NEXMark queries in Flink SQL: those of the nexmark/nexmark suite, over tables of CSV files.

They differ from the suite where its answers would be others: averages are not cut to whole numbers, and q15 to q17 are
asked of windows of a day, as they are of the other engines. `SUITE` has these three as the suite has them, where each
bid changes the answer.
"""

from __future__ import annotations

from millstream_bench.flink.job import FlinkQuery

_TIME = "CAST(TO_TIMESTAMP_LTZ({}, 3) AS TIMESTAMP(3))"
_WATERMARK = "WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND"
_COLUMNS = {
    "person": (
        "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, millis BIGINT, "
        f"extra STRING, `dateTime` AS {_TIME.format('millis')}, {_WATERMARK}"
    ),
    "auction": (
        "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, millis BIGINT, "
        "expires_millis BIGINT, seller BIGINT, category BIGINT, extra STRING, "
        f"`dateTime` AS {_TIME.format('millis')}, expires AS {_TIME.format('expires_millis')}, {_WATERMARK}"
    ),
    "bid": (
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, millis BIGINT, extra STRING, "
        f"`dateTime` AS {_TIME.format('millis')}, {_WATERMARK}"
    ),
}


def tables(folder: str) -> list[str]:
    """The statements that make the tables of events over a folder of CSV files."""
    return [
        f"CREATE TABLE {kind} ({columns}) "
        f"WITH ('connector' = 'filesystem', 'path' = 'file://{folder}/{kind}', 'format' = 'csv')"
        for kind, columns in _COLUMNS.items()
    ]


_BID = "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` TIMESTAMP(3), extra STRING"
_EURO = "CAST(0.908 * price AS DECIMAL(23, 3))"
_COUNTED = """
    SELECT auction, COUNT(*) AS num, window_start AS starttime, window_end AS endtime
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end
"""
_RANKS = {
    "total": "",
    "rank1": " FILTER (WHERE price < 10000)",
    "rank2": " FILTER (WHERE price >= 10000 AND price < 1000000)",
    "rank3": " FILTER (WHERE price >= 1000000)",
}
_COUNTS = ", ".join(f"COUNT(*){which} AS {rank}_bids" for rank, which in _RANKS.items())
_DISTINCT = ", ".join(
    f"COUNT(DISTINCT {what}){which} AS {rank}_{what}s"
    for what in ("bidder", "auction")
    for rank, which in _RANKS.items()
)
_PRICES = (
    "MIN(price) AS min_price, MAX(price) AS max_price, AVG(CAST(price AS DOUBLE)) AS avg_price, SUM(price) AS sum_price"
)
_BIDS_COLUMNS = ", ".join(f"{rank}_bids BIGINT" for rank in _RANKS)
_DISTINCT_COLUMNS = ", ".join(f"{rank}_{what} BIGINT" for what in ("bidders", "auctions") for rank in _RANKS)
_PRICES_COLUMNS = "min_price BIGINT, max_price BIGINT, avg_price DOUBLE, sum_price BIGINT"
_DAYS = "FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '1' DAY))"
_DAY = "DATE_FORMAT(window_start, 'yyyy-MM-dd') AS `day`"
_DAY_OF_BID = "DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')"
_SUMS_OF_BIDS = tuple(f"SUM({rank}_bids)" for rank in _RANKS)
_SUMS_OF_DISTINCT = tuple(f"SUM({rank}_{what})" for what in ("bidders", "auctions") for rank in _RANKS)

QUERIES = {
    "q0": FlinkQuery(
        "auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), extra STRING",
        "SELECT auction, bidder, price, `dateTime`, extra FROM bid",
    ),
    "q1": FlinkQuery(
        "auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), `dateTime` TIMESTAMP(3), extra STRING",
        f"SELECT auction, bidder, {_EURO}, `dateTime`, extra FROM bid",
    ),
    "q2": FlinkQuery("auction BIGINT, price BIGINT", "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0"),
    "q3": FlinkQuery(
        "name STRING, city STRING, state STRING, id BIGINT",
        "SELECT P.name, P.city, P.state, A.id FROM auction AS A INNER JOIN person AS P ON A.seller = P.id "
        "WHERE A.category = 10 AND (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA')",
    ),
    "q4": FlinkQuery(
        "category BIGINT, `avg` DOUBLE",
        """
        SELECT Q.category, AVG(CAST(Q.final AS DOUBLE)) AS `avg` FROM (
            SELECT MAX(B.price) AS final, A.category FROM auction A, bid B
            WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
            GROUP BY A.id, A.category
        ) Q GROUP BY Q.category
        """,
        ("COUNT(*)", "SUM(category)", "SUM(`avg`)"),
    ),
    "q5": FlinkQuery(
        "auction BIGINT, num BIGINT",
        f"""
        SELECT A.auction, A.num FROM ({_COUNTED}) AS A
        JOIN (SELECT MAX(num) AS maxn, starttime, endtime FROM ({_COUNTED}) GROUP BY starttime, endtime) AS M
        ON A.starttime = M.starttime AND A.endtime = M.endtime AND A.num >= M.maxn
        """,
    ),
    "q7": FlinkQuery(
        "auction BIGINT, price BIGINT, bidder BIGINT, `dateTime` TIMESTAMP(3), extra STRING",
        """
        SELECT B.auction, B.price, B.bidder, B.`dateTime`, B.extra FROM bid B JOIN (
            SELECT MAX(price) AS maxprice, window_end AS `dateTime`
            FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
            GROUP BY window_start, window_end
        ) B1 ON B.price = B1.maxprice
        WHERE B.`dateTime` BETWEEN B1.`dateTime` - INTERVAL '10' SECOND AND B1.`dateTime`
        """,
    ),
    "q8": FlinkQuery(
        "id BIGINT, name STRING, starttime TIMESTAMP(3)",
        """
        SELECT P.id, P.name, P.starttime FROM (
            SELECT id, name, window_start AS starttime, window_end AS endtime
            FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
            GROUP BY id, name, window_start, window_end
        ) P JOIN (
            SELECT seller, window_start AS starttime, window_end AS endtime
            FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
            GROUP BY seller, window_start, window_end
        ) A ON P.id = A.seller AND P.starttime = A.starttime AND P.endtime = A.endtime
        """,
    ),
    "q9": FlinkQuery(
        "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, `dateTime` TIMESTAMP(3), "
        "expires TIMESTAMP(3), seller BIGINT, category BIGINT, extra STRING, auction BIGINT, bidder BIGINT, "
        "price BIGINT, bid_dateTime TIMESTAMP(3), bid_extra STRING",
        """
        SELECT id, itemName, description, initialBid, reserve, `dateTime`, expires, seller, category, extra, auction,
            bidder, price, bid_dateTime, bid_extra
        FROM (
            SELECT A.*, B.auction, B.bidder, B.price, B.`dateTime` AS bid_dateTime, B.extra AS bid_extra,
                ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.`dateTime` ASC) AS rownum
            FROM auction A, bid B
            WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
        ) WHERE rownum <= 1
        """,
        ("COUNT(*)", "SUM(id)", "SUM(auction)", "SUM(price)", "SUM(seller)", "SUM(CHAR_LENGTH(description))"),
    ),
    "q11": FlinkQuery(
        "bidder BIGINT, bid_count BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)",
        """
        SELECT bidder, COUNT(*), SESSION_START(`dateTime`, INTERVAL '10' SECOND),
            SESSION_END(`dateTime`, INTERVAL '10' SECOND)
        FROM bid GROUP BY bidder, SESSION(`dateTime`, INTERVAL '10' SECOND)
        """,
    ),
    "q14": FlinkQuery(
        "auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), bidTimeType STRING, `dateTime` TIMESTAMP(3), "
        "extra STRING, c_counts BIGINT",
        f"""
        SELECT auction, bidder, {_EURO},
            CASE WHEN HOUR(`dateTime`) >= 8 AND HOUR(`dateTime`) <= 18 THEN 'dayTime'
                 WHEN HOUR(`dateTime`) <= 6 OR HOUR(`dateTime`) >= 20 THEN 'nightTime'
                 ELSE 'otherTime' END,
            `dateTime`, extra, CAST(CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS BIGINT)
        FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000
        """,
    ),
    "q15": FlinkQuery(
        f"`day` STRING, {_BIDS_COLUMNS}, {_DISTINCT_COLUMNS}",
        f"SELECT {_DAY}, {_COUNTS}, {_DISTINCT} {_DAYS} GROUP BY window_start, window_end",
    ),
    "q16": FlinkQuery(
        f"channel STRING, `day` STRING, `minute` STRING, {_BIDS_COLUMNS}, {_DISTINCT_COLUMNS}",
        f"SELECT channel, {_DAY}, DATE_FORMAT(MAX(`dateTime`), 'HH:mm') AS `minute`, {_COUNTS}, {_DISTINCT} {_DAYS} "
        "GROUP BY channel, window_start, window_end",
    ),
    "q17": FlinkQuery(
        f"auction BIGINT, `day` STRING, {_BIDS_COLUMNS}, {_PRICES_COLUMNS}",
        f"SELECT auction, {_DAY}, {_COUNTS}, {_PRICES} {_DAYS} GROUP BY auction, window_start, window_end",
    ),
    "q18": FlinkQuery(
        _BID,
        """
        SELECT auction, bidder, price, channel, url, `dateTime`, extra FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY `dateTime` DESC) AS rank_number FROM bid
        ) WHERE rank_number <= 1
        """,
        # Of bids at one time Flink takes any: only what they have in common is compared.
        ("COUNT(*)", "SUM(auction)", "SUM(bidder)", "SUM(60 * MINUTE(`dateTime`) + SECOND(`dateTime`))"),
    ),
    "q19": FlinkQuery(
        f"{_BID}, rank_number BIGINT",
        """
        SELECT auction, bidder, price, channel, url, `dateTime`, extra, rank_number FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid
        ) WHERE rank_number <= 10
        """,
        ("COUNT(*)", "SUM(auction)", "SUM(price)", "SUM(rank_number)", "SUM(price * rank_number)"),
    ),
    "q20": FlinkQuery(
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, bid_dateTime TIMESTAMP(3), "
        "bid_extra STRING, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, "
        "auction_dateTime TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT, auction_extra STRING",
        """
        SELECT auction, bidder, price, channel, url, B.`dateTime`, B.extra, itemName, description, initialBid, reserve,
            A.`dateTime`, expires, seller, category, A.extra
        FROM bid AS B INNER JOIN auction AS A ON B.auction = A.id WHERE A.category = 10
        """,
    ),
    "q21": FlinkQuery(
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, channel_id STRING",
        """
        SELECT auction, bidder, price, channel,
            CASE WHEN LOWER(channel) = 'apple' THEN '0' WHEN LOWER(channel) = 'google' THEN '1'
                 WHEN LOWER(channel) = 'facebook' THEN '2' WHEN LOWER(channel) = 'baidu' THEN '3'
                 ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END
        FROM bid
        WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL
            OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')
        """,
    ),
    "q22": FlinkQuery(
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, dir1 STRING, dir2 STRING, dir3 STRING",
        "SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3), SPLIT_INDEX(url, '/', 4), "
        "SPLIT_INDEX(url, '/', 5) FROM bid",
    ),
}

SUITE = {
    "q15": FlinkQuery(
        QUERIES["q15"].columns,
        f"SELECT {_DAY_OF_BID} AS `day`, {_COUNTS}, {_DISTINCT} FROM bid GROUP BY {_DAY_OF_BID}",
        ("COUNT(*)", *_SUMS_OF_BIDS, *_SUMS_OF_DISTINCT),
    ),
    "q16": FlinkQuery(
        QUERIES["q16"].columns,
        f"SELECT channel, {_DAY_OF_BID} AS `day`, MAX(DATE_FORMAT(`dateTime`, 'HH:mm')) AS `minute`, {_COUNTS}, "
        f"{_DISTINCT} FROM bid GROUP BY channel, {_DAY_OF_BID}",
        ("COUNT(*)", *_SUMS_OF_BIDS, *_SUMS_OF_DISTINCT),
    ),
    "q17": FlinkQuery(
        QUERIES["q17"].columns,
        f"SELECT auction, {_DAY_OF_BID} AS `day`, {_COUNTS}, {_PRICES} FROM bid GROUP BY auction, {_DAY_OF_BID}",
        ("COUNT(*)", "SUM(auction)", *_SUMS_OF_BIDS, *(f"SUM({name}_price)" for name in ("min", "max", "avg", "sum"))),
    ),
}

LEFT_OUT = {
    "q6": "Flink's frames cannot follow rows that change",
    "q10": "PyFlink comes without a writer of Parquet",
    "q12": "it depends on wall-clock time",
    "q13": "Flink's files cannot be looked up by key",
}

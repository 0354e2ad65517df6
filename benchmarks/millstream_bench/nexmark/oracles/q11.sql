WITH marked AS (
  SELECT bidder, dateTime,
    coalesce(dateTime - lag(dateTime) OVER (PARTITION BY bidder ORDER BY dateTime) >= INTERVAL 10 SECOND, true) AS begins
  FROM bid
), numbered AS (
  SELECT bidder, dateTime,
    count(*) FILTER (begins) OVER (PARTITION BY bidder ORDER BY dateTime RANGE UNBOUNDED PRECEDING) AS number
  FROM marked
)
SELECT bidder, count(*) AS bid_count, min(dateTime) AS starttime, max(dateTime) + INTERVAL 10 SECOND AS endtime
FROM numbered GROUP BY bidder, number

WITH highest AS (
  SELECT max(price) AS high, time_bucket(INTERVAL 10 SECOND, dateTime) AS starttime FROM bid GROUP BY starttime
)
SELECT auction, price, bidder, dateTime, extra
FROM bid JOIN highest ON price = high AND dateTime BETWEEN starttime AND starttime + INTERVAL 10 SECOND

WITH counted AS (
  SELECT auction, count(*) AS num, time_bucket(INTERVAL 2 SECOND, dateTime) - INTERVAL 2 SECOND * back AS starttime
  FROM bid, range(5) AS steps(back) GROUP BY auction, starttime
)
SELECT auction, num FROM counted AS c
WHERE num = (SELECT max(num) FROM counted AS other WHERE other.starttime = c.starttime)

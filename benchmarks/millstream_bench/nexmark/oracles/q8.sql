WITH appeared AS (
  SELECT DISTINCT id, name, time_bucket(INTERVAL 10 SECOND, dateTime) AS starttime FROM person
), opened AS (
  SELECT DISTINCT seller, time_bucket(INTERVAL 10 SECOND, dateTime) AS starttime FROM auction
)
SELECT id, name, starttime FROM appeared JOIN opened USING (starttime) WHERE id = seller

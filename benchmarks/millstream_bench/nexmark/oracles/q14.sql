SELECT auction, bidder, CAST(price * 0.908 AS DECIMAL(23, 3)) AS price,
  CASE WHEN hour(dateTime) >= 8 AND hour(dateTime) <= 18 THEN 'dayTime'
       WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime'
       ELSE 'otherTime' END AS bidTimeType,
  dateTime, extra, len(regexp_extract_all(extra, 'c')) AS c_counts
FROM bid WHERE price * 0.908 > 1000000 AND price * 0.908 < 50000000

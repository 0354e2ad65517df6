WITH winning AS (
  SELECT a.id, a.category, a.seller, a.expires, max(b.price) AS final
  FROM auction AS a JOIN bid AS b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
  GROUP BY ALL
)
SELECT category, avg(final) AS avg FROM winning GROUP BY category

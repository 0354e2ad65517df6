WITH winning AS (
  SELECT a.id, a.category, a.seller, a.expires, max(b.price) AS final
  FROM auction AS a JOIN bid AS b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
  GROUP BY ALL
), numbered AS (
  SELECT seller, final, row_number() OVER (PARTITION BY seller ORDER BY expires DESC, id DESC) AS number FROM winning
)
SELECT seller, avg(final) AS avg FROM numbered WHERE number <= 10 GROUP BY seller

SELECT auction, bidder, price, channel, url, dateTime, extra,
  row_number() OVER (PARTITION BY auction ORDER BY price DESC, dateTime, bidder, channel, url, extra) AS rank_number
FROM bid QUALIFY rank_number <= 10

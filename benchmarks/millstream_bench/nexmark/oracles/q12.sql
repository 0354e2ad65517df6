-- When a bid arrives is not in the data: only what each bidder has in all is known.
SELECT bidder, count(*) AS bid_count FROM bid GROUP BY bidder

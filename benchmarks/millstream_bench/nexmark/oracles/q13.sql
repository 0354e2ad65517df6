SELECT auction, bidder, price, dateTime, value FROM bid JOIN side ON auction % 10000 = key

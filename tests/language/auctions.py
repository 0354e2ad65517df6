"""The catalog that the language tests use: the auction house of the language page."""

from __future__ import annotations

from functools import cache

from millstream.catalog.catalog import Catalog
from millstream.language.binder import bind
from millstream.language.parser import parse
from millstream.language.trial.dry_run import dry_run

SCRIPT = """
CREATE STREAM open_auction (item_id INT, seller_id CHAR(10), price REAL, start_time TIMESTAMP)
  ORDER BY start_time SLACK 5 SECONDS SOURCE 'csv:data/open/*.csv';
CREATE STREAM closed_auction (item_id INT, buyer_id CHAR(10), price REAL, current_time TIMESTAMP)
  ORDER BY current_time SOURCE 'tcp:4446' OPTIONS (format = 'json');
CREATE STREAM bid (item_id INT, price REAL, bidder_id CHAR(10), tags ARRAY<STRING>, box STRUCT<w: INT, h: INT>)
  SOURCE 'json:data/bids';
CREATE STREAM dear AS SELECT item_id, price, start_time FROM open_auction WHERE price > 1000;
CREATE TABLE item (item_id INT, category INT) SOURCE 'parquet:data/items';
CREATE TABLE past (item_id INT, price REAL, sold TIMESTAMP) SOURCE 'parquet:data/past';
CREATE SINK alerts TO 'json:out/alerts';
CREATE QUERY hot AS SELECT item_id FROM dear;
"""


def catalog(extra: str = "") -> Catalog:
    """The auction house, and what a test adds to it; each caller may change its own."""
    return _bound(extra).copy()


@cache
def _bound(extra: str) -> Catalog:
    made = Catalog()
    for statement in parse(SCRIPT + extra):
        dry_run(bind(statement, made), made)
    return made

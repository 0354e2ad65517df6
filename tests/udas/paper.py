"""The aggregates of [Bai 2006], as printed there but for names that are built-in functions.

Its max prunes with <, as the printed <= would drop the newcomer, which already is in the window; and the parameters of
its alarm have types. Product grouping and frequent items are described there, and not printed.
"""

from __future__ import annotations

AVERAGE = """
CREATE AGGREGATE myavg(Next Real) : Real
{
TABLE state(tsum Real, cnt Int);
INITIALIZE : { INSERT INTO state VALUES (Next, 1); }
ITERATE : { UPDATE state SET tsum=tsum+Next, cnt=cnt+1; }
TERMINATE : { INSERT INTO RETURN
SELECT tsum/cnt FROM state; }
}
"""

DECAYED = """
CREATE AGGREGATE decay_online_avg(Next Real) : Real
{
TABLE state(tsum Real, cnt Int);
INITIALIZE : {
INSERT INTO state VALUES (Next, 1);
INSERT INTO RETURN VALUES (Next); }
ITERATE: {
UPDATE state SET tsum= 0.9*tsum + 1.1*Next, cnt=cnt+1;
INSERT INTO RETURN SELECT tsum/cnt FROM state; }
}
"""

CUMULATIVE = """
CREATE AGGREGATE cum_avg(Next Real) : Real
{
  TABLE state(tsum Real, cnt Int);
  INITIALIZE : {
    INSERT INTO state VALUES (Next, 1);
    INSERT INTO RETURN SELECT tsum/cnt FROM state;
  }
  ITERATE : {
    UPDATE state SET tsum=tsum+Next, cnt=cnt+1;
    INSERT INTO RETURN SELECT tsum/cnt FROM state;
  }
  TERMINATE : { }
}
"""

NAIVE_WINDOW = """
CREATE WINDOW AGGREGATE myavg(Next Real) : Real
{
  TABLE inwindow(wnext Real);
  INITIALIZE: ITERATE: {
    INSERT INTO RETURN
      SELECT myavg(wnext) FROM inwindow;
  }
}
"""

WINDOW_AVERAGE = """
CREATE WINDOW AGGREGATE winavg(Next Real) : Real
{
  TABLE state(tsum Int, cnt Real);
  TABLE inwindow(wnext Real);
  INITIALIZE : {
    INSERT INTO state VALUES (Next, 1);
    INSERT INTO RETURN VALUES (Next);
  }
  ITERATE : {
    UPDATE state SET tsum=tsum+Next, cnt=cnt+1;
    INSERT INTO RETURN SELECT tsum/cnt FROM state;
  }
  EXPIRE: { /* when there are expired tuples take the oldest */
    UPDATE state SET cnt= cnt-1, tsum = tsum - oldest().wnext;
  }
}
"""

ACTIVE_AVERAGE = """
CREATE WINDOW AGGREGATE active_avg(Next Real) : Real
{
  TABLE state(tsum Real, cnt Int);
  TABLE inwindow(wnext Real);
  INITIALIZE : { INSERT INTO state VALUES (Next, 1); INSERT INTO RETURN VALUES (Next); }
  ITERATE : {
    UPDATE state SET tsum=tsum+Next, cnt=cnt+1;
    INSERT INTO RETURN SELECT tsum/cnt FROM state;
  }
  EXPIRE: { /*when there are expired tuples take the oldest*/
  UPDATE state
    SET cnt= cnt-1, tsum = tsum - oldest().wnext;
  INSERT INTO RETURN
    SELECT tsum/cnt FROM state; }
}
"""

WINDOW_MAX = """
CREATE WINDOW AGGREGATE mymax (Next Real) : Real
{
  TABLE inwindow(wnext real);
  INITIALIZE : {
    INSERT INTO RETURN VALUES (Next);
  } /* new tuples are added to inwindow automatically */
  ITERATE : {
    DELETE FROM inwindow WHERE wnext < Next;
    INSERT INTO RETURN VALUES (oldest());
  }
  EXPIRE: { } /* expired tuples are removed automatically */
}
"""

PRINTED_MAX = WINDOW_MAX.replace("<", "≤").replace("mymax", "printed_max")

ACTIVE_MAX = """
CREATE ALGEBRAIC WINDOW AGGREGATE
  active_max (Next Real): Real
{ TABLE inwindow(wnext real);
  INITIALIZE : {
    INSERT INTO RETURN VALUES (Next);
  } /* new tuples added to inwindow automatically */
  ITERATE : {
    DELETE FROM inwindow WHERE wnext < Next;
  }
  EXPIRE: { /*expired tuples removed automatically*/
    INSERT INTO RETURN VALUES (oldest()) }
}
"""

GROUPING = """
CREATE AGGREGATE packing(tagid STRING, tagtime TIMESTAMP) : (item STRING, grp INT)
{
  TABLE last_seen(ltime TIMESTAMP, grp INT);
  INITIALIZE: {
    INSERT INTO last_seen VALUES (tagtime, 1);
    INSERT INTO RETURN VALUES (tagid, 1);
  }
  ITERATE: {
    UPDATE last_seen SET grp = grp + 1 WHERE tagtime - ltime > INTERVAL 2 SECONDS;
    UPDATE last_seen SET ltime = tagtime;
    INSERT INTO RETURN SELECT tagid, grp FROM last_seen;
  }
}
"""

ALARM = """
CREATE WINDOW AGGREGATE item_alarm(tagid INT, tagtype CHAR(10), tagtime TIMESTAMP):char
{
TABLE inwindow(tid INT, ttype CHAR(10), ttime TIMESTAMP);
INITIALIZE: ITERATE: {
DELETE FROM inwindow
WHERE tagtype = 'ap' AND ttype = 'item';
DELETE FROM inwindow
WHERE tagtype = 'item' AND ttype = 'item' AND EXISTS
(SELECT tid FROM inwindow WHERE ttype = 'ap'); }
EXPIRE: {
INSERT INTO RETURN VALUES ('larceny alarm')
WHERE tagtype = 'item' AND NOT EXISTS
(SELECT tid FROM inwindow WHERE ttype='ap'); }
}
"""

FREQUENT = """
CREATE WINDOW AGGREGATE frequent(item INT) : (item INT, cnt INT)
{
  TABLE filters(filter INT, slot INT, cnt INT);
  TABLE hashes(filter INT, factor INT) AS VALUES (0, 7919), (1, 104729), (2, 1299709);
  INITIALIZE: ITERATE: {
    INSERT INTO filters
      SELECT h.filter, pmod(frequent.item * h.factor, 64), 0 FROM hashes AS h
      WHERE NOT EXISTS (SELECT 1 FROM filters AS f
                        WHERE f.slot = pmod(frequent.item * h.factor, 64) AND f.filter = h.filter);
    UPDATE filters SET cnt = cnt + 1
      WHERE slot IN (SELECT pmod(frequent.item * h.factor, 64) FROM hashes AS h WHERE h.filter = filters.filter);
    INSERT INTO RETURN
      SELECT frequent.item, min(f.cnt) FROM filters AS f, hashes AS h
      WHERE f.slot = pmod(frequent.item * h.factor, 64) AND f.filter = h.filter;
  }
  EXPIRE: {
    UPDATE filters SET cnt = cnt - 1
      WHERE slot IN (SELECT pmod(oldest().item * h.factor, 64) FROM hashes AS h WHERE h.filter = filters.filter);
    DELETE FROM filters WHERE cnt = 0;
  }
}
"""

ALL = {
    "average": AVERAGE,
    "decayed": DECAYED,
    "cumulative": CUMULATIVE,
    "window average": WINDOW_AVERAGE,
    "active average": ACTIVE_AVERAGE,
    "window max": WINDOW_MAX,
    "printed max": PRINTED_MAX,
    "active max": ACTIVE_MAX,
    "grouping": GROUPING,
    "alarm": ALARM,
    "frequent": FREQUENT,
    "naive": AVERAGE + ";" + NAIVE_WINDOW,
}

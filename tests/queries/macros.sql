-- What queries may use that DuckDB is asked. Inputs lie in the first minutes of 2024.

-- A whole number below n, drawn for a row; each `nth` is another one.
CREATE MACRO draw(i, nth, n) AS (hash(1000 * i + nth) % n)::INT;

-- All windows of a size, one every slide, aligned to the epoch.
CREATE MACRO windows(size, slide) AS TABLE
  SELECT w AS window_start, w + size AS window_end
  FROM (SELECT unnest(range(time_bucket(slide, TIMESTAMP '2023-12-31 23:00:00', TIMESTAMP '1970-01-01'),
                            TIMESTAMP '2024-01-01 00:10:00', slide)) AS w);

"""The store of answers: logs of batches, the newest row of each key, and the versions of stored tables; no Spark."""

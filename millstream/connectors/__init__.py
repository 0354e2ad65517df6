"""Sources and sinks: one folder per kind, with a spec that needs no Spark."""

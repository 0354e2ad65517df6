#!/bin/sh
# Python for the processes that Spark starts: $MILLSTREAM_PYTHON, without Spark's own code as ZIP files on its path.
# Python would compile that anew in each process, and a query's start waits for one process per stage. The same code is
# installed as a package.
kept=
IFS=:
for place in $PYTHONPATH; do
    case $place in
        */pyspark.zip | */py4j-*-src.zip) ;;
        *) kept=$kept:$place ;;
    esac
done
export PYTHONPATH="${kept#:}"
exec "${MILLSTREAM_PYTHON:-python3}" "$@"

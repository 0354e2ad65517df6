#!/bin/sh
# Python for the processes that Spark starts: $MILLSTREAM_PYTHON, without Spark's own code as ZIP files on its path.
# Python would compile that anew in each process. The same code is installed as a package.
#
# A query's start waits for one process per stage, which only asks the stage for its state variables: a small program
# of our own does that, with the standard library alone.
kept=
IFS=:
for place in $PYTHONPATH; do
    case $place in
        */pyspark.zip | */py4j-*-src.zip) ;;
        *) kept=$kept:$place ;;
    esac
done
export PYTHONPATH="${kept#:}"
if [ "$1 $2" = "-m pyspark.sql.streaming.transform_with_state_driver_worker" ]; then
    exec "${MILLSTREAM_PYTHON:-python3}" -S "${0%/*}/tell_stage_variables.py"
fi
exec "${MILLSTREAM_PYTHON:-python3}" "$@"

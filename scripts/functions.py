"""Writes millstream/language/types/functions.tsv: every function of the installed Spark and its kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "millstream" / "language" / "types" / "functions.tsv"

GROUPS = {"agg_funcs": "aggregate", "window_funcs": "window", "generator_funcs": "generator", "table_funcs": "table"}
# Spark's grammar knows these, its registry does not.
GRAMMAR_ONLY = ("try_cast", "timestampadd", "timestampdiff")


def kinds(spark: Any) -> dict[str, str]:
    """The kind of every function of a session's Spark, by name."""
    jvm = spark._jvm  # noqa: SLF001
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    catalyst = "org.apache.spark.sql.catalyst"
    parents = {
        "aggregate": [loader.loadClass(f"{catalyst}.expressions.aggregate.AggregateFunction")],
        "generator": [
            loader.loadClass(f"{catalyst}.expressions.Generator"),
            loader.loadClass(f"{catalyst}.analysis.GeneratorBuilder"),
        ],
    }

    def by_class(info: Any) -> str:
        # The group tells where the function is documented: a sketch may be built by an aggregate.
        name = info.getClassName()
        # A builder is a Scala object: what it extends is told by the class with the dollar.
        cls = loader.loadClass(f"{name}$" if name.endswith("Builder") else name)
        found = [kind for kind, above in parents.items() if any(p.isAssignableFrom(cls) for p in above)]
        return found[0] if found else "scalar"

    infos = jvm.org.apache.spark.sql.api.python.PythonSQLUtils.listBuiltinFunctionInfos()
    named = {i.getName(): GROUPS.get(i.getGroup()) or by_class(i) for i in infos}
    named.update(dict.fromkeys(GRAMMAR_ONLY, "scalar"))
    return {name: kind for name, kind in sorted(named.items()) if re.fullmatch(r"\w+", name)}


def table(spark: Any) -> str:
    """The text of the file."""
    return "".join(f"{name}\t{kind}\n" for name, kind in kinds(spark).items())


def main() -> None:
    """Starts a Spark session and rewrites the file."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    TARGET.write_text(table(spark), encoding="utf-8")
    print(f"{TARGET.name}: {len(kinds(spark))} functions")
    spark.stop()


if __name__ == "__main__":
    main()

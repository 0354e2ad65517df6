"""Templates are stopped, renamed, replaced, resumed and dropped as other queries are, with their registrations."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream import RunError
from millstream.errors import MillstreamError
from millstream.mill import Mill, connect

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM bid (item INT, price INT) SOURCE 'csv:bids';
CREATE QUERY alert (wanted INT) AS SELECT price FROM bid WHERE item = wanted;
REGISTER alert (7) AS seven;
REGISTER alert (8);
"""


def write(folder: Path, name: str, *rows: str) -> None:
    new = folder / f".{name}"
    new.write_text("item,price\n" + "".join(f"{row}\n" for row in rows))
    new.rename(folder / "bids" / f"{name}.csv")


def prices(mill: Mill, handle: str) -> list[int]:
    return sorted(mill.registration(handle).invoke()["price"].to_pylist())


def opened(folder: Path, *, resumes: bool = False) -> Mill:
    return connect(folder / "home", base=folder, master="local[2]", resumes=resumes)


def test_a_template_is_managed_like_other_queries(spark: object, tmp_path: Path) -> None:
    (tmp_path / "bids").mkdir()
    write(tmp_path, "a", "9,0")
    with opened(tmp_path) as mill:
        mill.execute(SCRIPT)
        mill.query("alert").process_available()
        write(tmp_path, "b", "7,1", "8,2")
        mill.query("alert").process_available()
        seven = mill.registration("seven")
        assert seven.invoke()["price"].to_pylist() == [1]

        mill.execute("STOP QUERY alert")
        assert prices(mill, "seven") == [1], "it can be invoked while its query is stopped"
        mill.execute("REGISTER alert (9) AS nine")
        write(tmp_path, "c", "7,3", "9,4")
        mill.execute("START QUERY alert; REGISTER alert (8)")
        mill.query("alert").process_available()
        assert seven.invoke()["price"].to_pylist() == [1, 3], "who holds a registration goes on holding it"
        assert prices(mill, "nine") == [4]

        mill.execute("ALTER QUERY alert RENAME TO warning")
        with pytest.raises(MillstreamError, match="no template 'alert'"):
            mill.execute("REGISTER alert (1)")
        write(tmp_path, "d", "7,5")
        mill.query("warning").process_available()
        assert prices(mill, "seven") == [1, 3, 5]

        with pytest.raises(MillstreamError, match="with other parameters cannot take its place"):
            mill.execute("CREATE OR REPLACE QUERY warning (wanted BIGINT) AS SELECT price FROM bid WHERE item = wanted")
        with pytest.raises(MillstreamError, match="has parameters"):
            mill.execute("ALTER QUERY warning AS SELECT price FROM bid")
        mill.execute(
            "CREATE OR REPLACE QUERY warning (wanted INT) AS SELECT price FROM bid WHERE item = wanted AND price > 6"
        )
        write(tmp_path, "e", "7,6", "7,7")
        mill.query("warning").process_available()
        assert prices(mill, "seven") == [1, 3, 5, 7]

    with opened(tmp_path, resumes=True) as mill:
        assert mill.resumed.queries == ("warning",)
        write(tmp_path, "f", "7,8")
        mill.query("warning").process_available()
        assert prices(mill, "seven") == [1, 3, 5, 7, 8]
        assert mill.execute("SHOW REGISTRATIONS")[0].table.num_rows == 4
        mill.execute("STOP QUERY warning")

    with opened(tmp_path, resumes=True) as mill:
        with pytest.raises(RunError, match="START QUERY warning"):
            mill.execute("INVOKE seven")
        assert "those of warning are known once it is started" in mill.execute("SHOW REGISTRATIONS")[0].message
        mill.execute("START QUERY warning")
        assert prices(mill, "seven") == [1, 3, 5, 7, 8]
        mill.execute("DROP QUERY warning")
        with pytest.raises(RunError, match="no registration 'seven'"):
            mill.execute("INVOKE seven")


def test_a_script_can_be_said_again_to_a_mill_that_has_resumed(spark: object, tmp_path: Path) -> None:
    (tmp_path / "bids").mkdir()
    write(tmp_path, "a", "7,1")
    with opened(tmp_path) as mill:
        mill.execute(SCRIPT)
    with opened(tmp_path, resumes=True) as mill:
        assert [answer.message for answer in mill.execute(SCRIPT)][2:] == [
            "seven is already there",
            "alert_2 is already there",
        ]
        assert mill.execute("REGISTER alert (8)")[0].message == "registered alert_3", "each registration is said once"
        with pytest.raises(RunError, match="already a registration 'seven'"):
            mill.execute("REGISTER alert (7) AS seven")


def test_a_template_that_names_its_parameters_by_its_own_name_keeps_it(spark: object, tmp_path: Path) -> None:
    (tmp_path / "bids").mkdir()
    with opened(tmp_path) as mill:
        mill.execute("""
            CREATE STREAM bid (item INT, price INT) SOURCE 'csv:bids';
            CREATE QUERY alert (item INT) AS SELECT price FROM bid WHERE bid.item = alert.item;
            REGISTER alert (7) AS seven;
        """)
        with pytest.raises(RunError, match="would not bind under the name 'other'"):
            mill.execute("ALTER QUERY alert RENAME TO other")
        write(tmp_path, "a", "7,1")
        mill.query("alert").process_available()
        assert prices(mill, "seven") == [1]


def test_a_replacement_is_refused_that_a_registration_would_end(spark: object, tmp_path: Path) -> None:
    (tmp_path / "bids").mkdir()
    (tmp_path / "s").mkdir()
    with opened(tmp_path) as mill:
        mill.execute("""
            CREATE STREAM s (name STRING) SOURCE 'csv:s';
            CREATE QUERY q (wanted STRING) AS SELECT name FROM s WHERE name = wanted;
        """)
        mill.register("q", [("a\\b",)], ["odd"])
        with pytest.raises(RunError, match="no pattern of LIKE"):
            mill.execute("CREATE OR REPLACE QUERY q (wanted STRING) AS SELECT name FROM s WHERE name LIKE wanted")
        assert mill.query("q").is_active
        assert mill.registration("odd").invoke().num_rows == 0


def test_templates_over_kept_streams_begin_in_the_history(spark: object, tmp_path: Path) -> None:
    (tmp_path / "bids").mkdir()
    write(tmp_path, "a", "7,1")
    with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]") as mill:
        mill.execute("""
            CREATE STREAM bid (item INT, price INT) KEEP ALL SOURCE 'csv:bids';
            CREATE QUERY early (wanted INT) AS SELECT price FROM bid WHERE item = wanted START AT EARLIEST;
            CREATE QUERY late (wanted INT) AS SELECT price FROM bid WHERE item = wanted START AT NOW;
            REGISTER early (7) AS one;
            REGISTER late (7) AS other;
        """)
        mill.wait()
        assert prices(mill, "one") == [1]
        assert prices(mill, "other") == []

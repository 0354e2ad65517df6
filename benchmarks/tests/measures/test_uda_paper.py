"""The paper's figures: all variants answer alike, and what is measured has the shape that it must have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from millstream.cli.main import main
from millstream.errors import RunError
from millstream_bench.measures.uda_paper import Limits, answers, measure
from millstream_bench.measures.uda_variants import VARIANTS, Variant, chosen
from millstream_bench.udas.texts import body_of

FEW = Limits(400, 50, 5)


def plain(variant: Variant, slide: int) -> list[Any]:
    """The answers as numbers, or as pairs for frequent items."""
    found: list[Any] = []
    for answer in answers(variant, 20, slide, 200, 37):
        values = list(answer[0].values()) if isinstance(answer, list) else [answer]
        found.append(values[0] / values[1] if variant.name == "panes" else values)
    return [v[0] if isinstance(v, list) and len(v) == 1 else v for v in found]


@pytest.mark.parametrize("slide", [1, 5, 7, 20])
@pytest.mark.parametrize("aggregate", ["average", "frequent"])
def test_all_variants_answer_alike(aggregate: str, slide: int) -> None:
    first, *others = chosen([aggregate], [])
    wanted = plain(first, slide)
    assert len(wanted) == 200 // slide
    for variant in others:
        if aggregate == "average":
            assert plain(variant, slide) == pytest.approx(wanted), variant.name
        else:
            assert plain(variant, slide) == wanted, variant.name


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: f"{v.aggregate}-{v.name}")
@pytest.mark.parametrize("slide", [1, 10])
def test_a_point(variant: Variant, slide: int) -> None:
    found = measure(variant, 40, slide, FEW)
    assert (found.window, found.slide, found.batch % slide) == (40, slide, 0)
    assert found.answers == found.tuples // slide > 0
    assert found.tuples_per_second > 0
    assert found.blob_bytes > 0


def test_a_measurement_ends_with_its_time() -> None:
    (naive,) = chosen(["frequent"], ["naive"])
    found = measure(naive, 400, 1, Limits(10_000_000, 10_000, 0.05))
    assert found.tuples < 1000


def test_panes_keep_less_as_the_slide_grows() -> None:
    (panes,) = chosen(["average"], ["panes"])
    small, large = (measure(panes, 40_000, slide, Limits(80_000, 40_000, 5)) for slide in (10, 100))
    assert large.blob_bytes < small.blob_bytes / 8


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--windows", "10,20", "--window", "20", "--slides", "1,10", "--rows", "100", "--batch", "20"]
    command = ["bench", "uda", "paper", "--aggregates", "average", "--variants", "expire,built-in", *arguments]
    assert main([*command, "--json"]) == 0
    points = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(p["variant"], p["window"], p["slide"]) for p in points] == [
        (variant, window, slide) for variant in ("expire", "built-in") for window, slide in ((10, 1), (20, 1), (20, 10))
    ]
    assert main(command) == 0
    assert "built-in" in capsys.readouterr().out


def test_a_variant_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "uda", "paper", "--variants", "expired"]) == 1
    assert "bench uda paper has no 'expired': did you mean 'expire'?" in capsys.readouterr().err


def test_a_text_that_declares_something_else() -> None:
    with pytest.raises(RunError, match="declares no aggregate"):
        body_of("CREATE SINK s TO 'noop:'")

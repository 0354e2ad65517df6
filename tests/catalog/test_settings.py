"""Settings: what they take, and how they are written back."""

from __future__ import annotations

import pytest

from millstream.catalog.settings import Settings
from millstream.errors import SettingError


def written(settings: Settings, name: str) -> str:
    return next(value for found, value, _ in settings.items() if found == name)


@pytest.mark.parametrize(
    ("text", "direct", "back"),
    [("auto", True, "auto"), ("AUTO", True, "auto"), ("spark", False, "spark"), ("Spark", False, "spark")],
)
def test_the_reader_is_auto_or_spark_in_any_case(text: str, direct: bool, back: str) -> None:
    settings = Settings()
    settings.assign("reader", "spark" if direct else "auto")
    settings.assign("Reader", text)
    assert settings.direct is direct
    assert written(settings, "reader") == back
    settings.assign("reader", written(settings, "reader"))
    assert settings.direct is direct


def test_stages_read_by_themselves_unless_told_otherwise() -> None:
    assert Settings().direct
    assert written(Settings(), "reader") == "auto"


@pytest.mark.parametrize("text", ["arrow", "", "true", "auto "])
def test_other_readers_are_refused_and_change_nothing(text: str) -> None:
    settings = Settings()
    settings.assign("reader", "spark")
    with pytest.raises(SettingError) as refusal:
        settings.assign("reader", text)
    assert str(refusal.value) == f"reader = '{text}' must be auto or spark"
    assert not settings.direct


def test_choices_left_to_the_mill_are_written_as_auto() -> None:
    values = {name: value for name, value, _ in Settings().items()}
    assert (values["buckets"], values["reader"], values["results_kept"]) == ("auto", "auto", "1000000")

"""The table of client defects: names, refusals, combinations, documentation."""

from __future__ import annotations

import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest

from broker_client import defects
from broker_client.admin import Admin
from broker_client.consumer import Consumer
from broker_client.core.client_parts import parts_with
from broker_client.core.consumer.consumer_parts import CONSUMER_PARTS
from broker_client.core.producer.producer_parts import PRODUCER_PARTS
from broker_client.defects import DEFECTS, MODULES
from broker_client.defects.reference_page import reference_page
from broker_client.errors import ConfigError
from broker_client.producer import Producer
from tests.client.defects.defect_room import Room

HERE = Path(__file__).parent
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "client-defects.md"


def test_a_client_without_defects_has_the_plain_parts() -> None:
    producer = Room().producer()
    assert type(producer.sender) is PRODUCER_PARTS.sender
    assert parts_with(CONSUMER_PARTS, ()) is CONSUMER_PARTS


def test_a_client_without_defects_imports_none_of_them() -> None:
    code = (
        "import sys, broker_client.producer; print([name for name in sys.modules if 'broker_client.defects' in name])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_an_unknown_defect_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match="unknown client defect 'no-mutes'; did you mean 'no-mute'"):
        Room().producer("no-mutes")


def test_a_defect_of_producers_is_refused_by_a_consumer() -> None:
    with pytest.raises(ConfigError, match="defect 'no-mute' replaces sender, of which this client has none"):
        Room().consumer("no-mute")


def test_two_defects_of_one_part_become_one_class_with_both() -> None:
    parts = parts_with(PRODUCER_PARTS, ("no-mute", "close-forgets-buffer"))
    assert [base.__name__ for base in parts.sender.__bases__] == ["ForgettingSender", "NoMuteSender"]


@pytest.mark.parametrize("public", [Producer, Consumer, Admin])
def test_a_public_client_has_no_option_for_defects(public: type) -> None:
    assert "defects" not in signature(public).parameters


def test_the_table_has_every_file_of_every_room() -> None:
    folder = Path(defects.__file__).parent
    assert sorted(MODULES) == sorted(
        f"{path.parent.name}.{path.stem}" for path in folder.glob("*/*.py") if path.name != "__init__.py"
    )


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_replaces_parts_by_subclasses(name: str) -> None:
    for part, substitute in DEFECTS[name].parts.items():
        replaced = [getattr(parts, part) for parts in (PRODUCER_PARTS, CONSUMER_PARTS) if hasattr(parts, part)]
        assert replaced
        assert all(issubclass(substitute, kind) for kind in replaced)


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_has_a_test_that_shows_it(name: str) -> None:
    assert any(f'"{name}"' in path.read_text() for path in HERE.glob("test_*.py") if path.name != "test_defects.py")


@pytest.mark.parametrize("name", DEFECTS)
def test_the_lesson_of_a_defect_teaches(name: str) -> None:
    title, _, rest = DEFECTS[name].lesson.strip().partition("\n\n")
    assert title.endswith(".")
    assert len(rest) > 150


def test_the_page_is_what_the_code_writes_now() -> None:
    assert PAGE.read_text() == reference_page(), "run: make docs"

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from broker_scenarios.cli import main
from broker_scenarios.commands.configs import KINDS, reference_page, rows_of

if TYPE_CHECKING:
    import pytest


def test_a_named_configuration_is_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["configs", "num.io.threads"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["kind", "name", "type", "default", "update", "effect", "valid"]
    assert row.split() == ["broker", "num.io.threads", "int", "8", "cluster-wide", "yes", "at", "least", "1"]


def test_an_unknown_name_is_refused_with_the_nearest_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["configs", "num.io.thread"]) == 2
    assert capsys.readouterr().err == (
        "unknown configuration 'num.io.thread' for release 4.3.1; did you mean 'num.io.threads'?\n"
    )


def test_every_kind_of_every_release_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    for release in ("3.7", "4.3"):
        assert main(["configs", "--release", release, "--json"]) == 0
        listed = json.loads(capsys.readouterr().out)
        assert [each["name"] for each in listed] == [row.definition.name for row in rows_of(release)]
        assert {each["kind"] for each in listed} == set(KINDS) - ({"group"} if release == "3.7" else set())


def test_the_reference_page_is_what_the_code_writes_now() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "configurations.md"
    assert page.read_text() == reference_page("4.3.1"), "run: make docs"


def test_the_coordinators_act_on_every_configuration_of_a_group() -> None:
    assert [row.definition.name for row in rows_of("4.3.1", "group") if not row.effect] == []


def test_with_and_without_effect_make_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    names = []
    for flag in ("--with-effect", "--without-effect"):
        assert main(["configs", "--kind", "broker", "--json", flag]) == 0
        names += [each["name"] for each in json.loads(capsys.readouterr().out)]
    assert sorted(names) == sorted(row.definition.name for row in rows_of("4.3.1", "broker"))


def test_an_unknown_release_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["configs", "--release", "9.9"]) == 2
    assert "release '9.9' is not emulated" in capsys.readouterr().err

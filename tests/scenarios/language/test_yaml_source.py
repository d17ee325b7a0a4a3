from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.language.yaml_source import ScenarioFileError, read_source

if TYPE_CHECKING:
    from pathlib import Path


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_file_lies_over_its_base_key_by_key_and_each_value_knows_its_file(tmp_path: Path) -> None:
    written(tmp_path, "base.yaml", "a: {x: 1, y: 2}\nlist: [1, 2]\n")
    source = read_source(written(tmp_path, "flip.yaml", "base: base.yaml\na: {y: 3}\nlist: [9]\n"))
    assert source.value == {"a": {"x": 1, "y": 3}, "list": [9]}
    assert source.mark(("a", "x")).file.endswith("base.yaml")
    assert source.mark(("a", "y")).file.endswith("flip.yaml")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2\n", "2:1: a: is a duplicate key"),
        ("a: [1\n", "no YAML"),
        ("- 1\n", "expected a mapping"),
        ("", "expected a mapping"),
        ("base: nowhere.yaml\n", "there is no file"),
        ("base: [1]\n", "expected the name of a scenario file"),
        ("base: a.yaml\n", "is based on this file"),
        ("a: !!python/object:os.system {}\n", "no YAML"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ScenarioFileError) as raised:
        read_source(written(tmp_path, "a.yaml", text))
    assert problem in str(raised.value)
    assert "a.yaml:" in str(raised.value)


def test_a_circle_of_bases_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "a.yaml", "base: b.yaml\n")
    with pytest.raises(ScenarioFileError, match="is based on this file"):
        read_source(written(tmp_path, "b.yaml", "base: a.yaml\n"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"nothing\.yaml: No such file"):
        read_source(tmp_path / "nothing.yaml")


def test_a_draw_of_a_base_is_replaced_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("load: {records: {one_of: [1, 5]}, rate_per_second: 5}\nproducer: {acks: 1}")
    (tmp_path / "above.yaml").write_text(
        "base: base.yaml\nload: {records: {uniform: [1, 9]}}\nproducer: {acks: {one_of: [1, all]}}"
    )
    assert read_source(tmp_path / "above.yaml").value == {
        "load": {"records": {"uniform": [1, 9]}, "rate_per_second": 5},
        "producer": {"acks": {"one_of": [1, "all"]}},
    }

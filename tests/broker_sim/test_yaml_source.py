from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.errors import BrokerSimError
from broker_sim.yaml_source import YamlMistakes, merged, parse_yaml

if TYPE_CHECKING:
    from pathlib import Path


def written(folder: Path, text: str) -> Path:
    path = folder / "a.yaml"
    path.write_text(text)
    return path


def test_each_key_knows_its_line_and_column(tmp_path: Path) -> None:
    source = parse_yaml(written(tmp_path, "a:\n  b: 1\n  c: [1, 2]\n"))
    assert source.value == {"a": {"b": 1, "c": [1, 2]}}
    assert (source.mark(("a", "b")).line, source.mark(("a", "b")).column) == (2, 3)
    assert source.mark(("a", "c", 1)).column == 10
    assert source.mark(("a", "missing")).line == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2\n", "2:1: a: is a duplicate key"),
        ("a: [1\n", "no YAML"),
        ("a: !!python/object:os.system {}\n", "no YAML: tag"),
    ],
)
def test_a_mistake_has_its_file_and_line(tmp_path: Path, text: str, problem: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(YamlMistakes) as raised:
        parse_yaml(path)
    assert str(raised.value).startswith(f"{path}:")
    assert problem in str(raised.value)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: \xff")
    with pytest.raises(BrokerSimError, match=r"a\.yaml: byte 3 is not UTF-8"):
        parse_yaml(path)


def test_mappings_are_merged_key_by_key_and_null_removes() -> None:
    assert merged({"a": {"x": 1, "y": 2}, "b": 1}, {"a": {"y": 3}, "b": None}) == {"a": {"x": 1, "y": 3}}

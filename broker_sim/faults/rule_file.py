"""A YAML file of fault rules, in the grammar of scenario files and HTTP: a list, or a mapping by the rules' names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.faults.grammar import parse_rules
from broker_sim.faults.rule import RuleError
from broker_sim.yaml_source import Source, YamlMistakes, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from broker_sim.faults.rule import Rule
    from broker_sim.yaml_source import KeyPath

__all__ = ["RuleFile", "read_rule_file"]


class RuleFile:
    """The rules of a file, which state the place of their mistakes."""

    def __init__(self, source: Source) -> None:
        self._source = source
        value = source.value
        self._keys: list[str | int] = list(value if isinstance(value, dict) else range(len(value)))
        written = [
            {"name": key, **value[key]} if isinstance(value, dict) and isinstance(value[key], dict) else value[key]
            for key in self._keys
        ]
        try:
            self.rules = parse_rules(written)
        except RuleError as error:
            place, *rest = error.path
            raise self._mistake((self._keys[int(place)], *rest), error) from None

    def add_to(self, add: Callable[[Rule], object]) -> None:
        """Add each rule with this function. Raises YamlMistakes where it raises RuleError."""
        for key, rule in zip(self._keys, self.rules, strict=True):
            try:
                add(rule)
            except RuleError as error:
                raise self._mistake((key, *error.path), error) from None

    def _mistake(self, path: KeyPath, error: RuleError) -> YamlMistakes:
        return YamlMistakes([self._source.mistake(path, error.problem)])


def read_rule_file(path: Path) -> RuleFile:
    """Read and check the rules of a file.

    Raises:
        YamlMistakes: a rule has a mistake; the message has file, line, column and key.
        BrokerSimError: the file cannot be read.
    """
    source = parse_yaml(path)
    if not isinstance(source.value, list | dict):
        raise YamlMistakes([source.mistake((), "expected a list of rules, or a mapping of names to rules")])
    return RuleFile(source)

"""A YAML file as plain values, with the line and column of each key: a mistake in it is reported with its place.

No YAML tag makes an object of Python, and a key that a mapping has twice is a mistake.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import yaml

from broker_sim.errors import BrokerSimError
from sim_runtime.spelling import reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

__all__ = ["KeyPath", "Mark", "Mistake", "Source", "YamlMistakes", "merged", "parse_yaml", "value_at", "with_value"]

KeyPath: TypeAlias = tuple[str | int, ...]

_YAML_TAG: Final = "tag:yaml.org,2002:"
_PLAIN_TAGS: Final = tuple(_YAML_TAG + name for name in ("map", "seq", "str", "int", "float", "bool", "null"))


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One mistake in a file, with the expected value."""

    mark: Mark
    path: KeyPath
    problem: str

    def __str__(self) -> str:
        path = ".".join(map(str, self.path))
        return f"{self.mark}: {path + ': ' if path else ''}{self.problem}"


class YamlMistakes(BrokerSimError):
    """A file with mistakes: all that were found, in the order of the file."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        super().__init__(tuple(mistakes))
        self.mistakes = tuple(mistakes)

    def __str__(self) -> str:
        return "\n".join(map(str, self.mistakes))


def _never(_: object) -> bool:
    return False


@dataclass(slots=True)
class Source:
    """The values of a file and the position of each path of keys."""

    file: str
    value: Any
    marks: dict[KeyPath, Mark] = field(default_factory=dict)

    def mark(self, path: KeyPath) -> Mark:
        """Return the position of a path, or of its nearest parent that has one."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.marks:
                return self.marks[path[:length]]
        return Mark(self.file, 1, 1)

    def mistake(self, path: KeyPath, problem: str) -> Mistake:
        """Return a mistake at a path."""
        return Mistake(mark=self.mark(path), path=path, problem=problem)

    def without(self, key: str) -> Source:
        """The same file without one of its first keys."""
        return Source(self.file, {name: value for name, value in self.value.items() if name != key}, self.marks)

    def overlaid(self, key: str, *, whole: Collection[str] = (), is_value: Callable[[object], bool] = _never) -> Source:
        """The same file with the mapping under one of its first keys laid over it; keys in `whole` are replaced."""
        above = self.value[key]
        below = {
            name: value for name, value in self.without(key).value.items() if not (name in whole and name in above)
        }
        marks = {path[1:]: mark for path, mark in self.marks.items() if len(path) > 1 and path[0] == key}
        return Source(self.file, merged(below, above, is_value), self.marks | marks)


def merged(below: dict[str, Any], above: dict[str, Any], is_value: Callable[[object], bool] = _never) -> dict[str, Any]:
    """Return a mapping laid over another one, key by key; the value None removes the key of the lower one.

    A mapping for which `is_value` returns True replaces what is there, and is replaced as a whole.
    """
    result = dict(below)
    for key, value in above.items():
        if value is None and key in result:
            del result[key]
            continue
        pair = value, result.get(key)
        both = all(isinstance(each, dict) and not is_value(each) for each in pair)
        result[key] = merged(result[key], value, is_value) if both else value
    return result


def value_at(value: Any, path: KeyPath) -> Any:
    """Return the value at a path of nested mappings and lists."""
    for key in path:
        value = value[key]
    return value


def with_value(value: Any, path: KeyPath, new: Any) -> Any:
    """Return a copy of nested mappings and lists with another value at a path."""
    if not path:
        return new
    key: Any = path[0]
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = with_value(value[key], path[1:], new)
    return copy


def parse_yaml(path: Path) -> Source:
    """Read one file. Raises YamlMistakes, or another BrokerSimError if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BrokerSimError(f"cannot read {path}: {reason_of(error)}") from None
    except UnicodeDecodeError as error:
        raise BrokerSimError(f"cannot read {path}: byte {error.start} is not UTF-8") from None
    source = Source(str(path), None)
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        source.value = None if node is None else _value(source, loader, node, ())
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        mark = Mark(str(path), at.line + 1, at.column + 1) if at else Mark(str(path), 1, 1)
        raise YamlMistakes([Mistake(mark=mark, path=(), problem=f"no YAML: {error.problem}")]) from None
    except yaml.YAMLError as error:
        raise BrokerSimError(f"{path}: no YAML: {error}") from None
    finally:
        loader.dispose()
    return source


def _value(source: Source, loader: yaml.SafeLoader, node: yaml.Node, path: KeyPath) -> Any:
    source.marks.setdefault(path, _mark(source, node))
    if node.tag not in _PLAIN_TAGS:
        raise YamlMistakes([Mistake(mark=_mark(source, node), path=path, problem=f"no YAML: tag {node.tag}")])
    if isinstance(node, yaml.MappingNode):
        made: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(loader.construct_object(key_node, deep=True))
            if key in made:
                raise YamlMistakes(
                    [Mistake(mark=_mark(source, key_node), path=(*path, key), problem="is a duplicate key")]
                )
            source.marks[*path, key] = _mark(source, key_node)
            made[key] = _value(source, loader, value_node, (*path, key))
        return made
    if isinstance(node, yaml.SequenceNode):
        return [_value(source, loader, item, (*path, place)) for place, item in enumerate(node.value)]
    return loader.construct_object(node, deep=True)


def _mark(source: Source, node: yaml.Node) -> Mark:
    return Mark(source.file, node.start_mark.line + 1, node.start_mark.column + 1)

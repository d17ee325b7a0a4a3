"""A YAML file as plain values, with the line and column of each key, and with the file that it is based on.

A scenario may name a `base`: its mappings are laid over the base's, key by key, so that another setting is one line;
the value null takes the base's key away. Its `flip` is laid over the file itself in the same way. Each value remembers
the file and the line that it came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import yaml

from broker_scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

__all__ = ["Mark", "Mistake", "ScenarioFileError", "Source", "read_source"]

KeyPath: TypeAlias = tuple[str | int, ...]

_BASES_LIMIT: Final = 8
"""How long a chain of `base` files may be."""

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
    """One mistake in a scenario file, with the expected value."""

    mark: Mark
    path: KeyPath
    problem: str

    def __str__(self) -> str:
        path = ".".join(map(str, self.path))
        return f"{self.mark}: {path + ': ' if path else ''}{self.problem}"


class ScenarioFileError(ScenarioError):
    """A scenario file with mistakes: all of them, in the order of the file."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        super().__init__(tuple(mistakes))
        self.mistakes = tuple(mistakes)

    def __str__(self) -> str:
        return "\n".join(map(str, self.mistakes))


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

    def overlaid(self, key: str, *, whole: Collection[str] = ()) -> Source:
        """The same file with the mapping under one of its first keys laid over it; keys in `whole` are replaced."""
        above = self.value[key]
        below = {
            name: value for name, value in self.without(key).value.items() if not (name in whole and name in above)
        }
        marks = {path[1:]: mark for path, mark in self.marks.items() if len(path) > 1 and path[0] == key}
        return Source(self.file, _merge(below, above), self.marks | marks)


def read_source(path: Path) -> Source:
    """Read a file and the files that it is based on. Raises ScenarioError or ScenarioFileError."""
    return _read(path, ())


def _read(path: Path, users: tuple[Path, ...]) -> Source:
    source = _parse(path)
    if not isinstance(source.value, dict):
        raise ScenarioFileError([source.mistake((), "expected a mapping of keys to values")])
    base = source.value.pop("base", None)
    if base is None:
        return source
    if not isinstance(base, str):
        raise ScenarioFileError([source.mistake(("base",), f"expected the name of a scenario file, not {base!r}")])
    target = path.parent / base
    if target.resolve() in [user.resolve() for user in (*users, path)]:
        raise ScenarioFileError([source.mistake(("base",), f"{base!r} is based on this file")])
    if len(users) >= _BASES_LIMIT:
        raise ScenarioFileError([source.mistake(("base",), f"the chain of bases has more than {_BASES_LIMIT} files")])
    if not target.is_file():
        raise ScenarioFileError([source.mistake(("base",), f"there is no file {target}")])
    below = _read(target, (*users, path))
    return Source(source.file, _merge(below.value, source.value), below.marks | source.marks)


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        if value is None and key in merged:
            del merged[key]
            continue
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _parse(path: Path) -> Source:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"scenario {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ScenarioError(f"scenario {path}: byte {error.start} is not UTF-8") from None
    source = Source(str(path), None)
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        source.value = None if node is None else _value(source, loader, node, ())
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        mark = Mark(str(path), at.line + 1, at.column + 1) if at else Mark(str(path), 1, 1)
        raise ScenarioFileError([Mistake(mark=mark, path=(), problem=f"no YAML: {error.problem}")]) from None
    except yaml.YAMLError as error:
        raise ScenarioError(f"scenario {path}: no YAML: {error}") from None
    finally:
        loader.dispose()
    return source


def _value(source: Source, loader: yaml.SafeLoader, node: yaml.Node, path: KeyPath) -> Any:
    source.marks.setdefault(path, _mark(source, node))
    if node.tag not in _PLAIN_TAGS:
        raise ScenarioFileError([Mistake(mark=_mark(source, node), path=path, problem=f"no YAML: tag {node.tag}")])
    if isinstance(node, yaml.MappingNode):
        made: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(loader.construct_object(key_node, deep=True))
            if key in made:
                raise ScenarioFileError(
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

"""A scenario's YAML file, laid over the file that it is based on.

A scenario may name a `base`: its mappings are laid over the base's, key by key, so that another setting is one line;
the value null takes the base's key away. Its `flip` is laid over the file itself in the same way. Each value remembers
the file and the line that it came from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.errors import ScenarioError
from broker_scenarios.language.draws import is_draw
from broker_sim.errors import BrokerSimError
from broker_sim.yaml_source import Source, YamlMistakes, merged, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from broker_sim.yaml_source import Mistake

__all__ = ["ScenarioFileError", "read_source"]

_BASES_LIMIT: Final = 8
"""How long a chain of `base` files may be."""


class ScenarioFileError(ScenarioError):
    """A scenario file with mistakes: all of them, in the order of the file."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        super().__init__(tuple(mistakes))
        self.mistakes = tuple(mistakes)

    def __str__(self) -> str:
        return "\n".join(map(str, self.mistakes))


def read_source(path: Path) -> Source:
    """Read a file and the files that it is based on. Raises ScenarioError or ScenarioFileError."""
    return _read(path, ())


def _read(path: Path, users: tuple[Path, ...]) -> Source:
    try:
        source = parse_yaml(path)
    except YamlMistakes as error:
        raise ScenarioFileError(error.mistakes) from None
    except BrokerSimError as error:
        raise ScenarioError(str(error)) from None
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
    return Source(source.file, merged(below.value, source.value, is_draw), below.marks | source.marks)

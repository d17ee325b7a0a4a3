"""The draws of a scenario file: `{uniform: [1, 5]}`, `{one_of: [1, 5, 20]}`, and rules with a `chance`.

Each draw has a name, the path of its key, and a random stream of that name: taking one away shifts no other. Both sides
of a flip draw the same. The numbers of rules are draws of the engine, in the grammar of faults.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.errors import ScenarioError
from broker_sim.errors import nearest
from broker_sim.yaml_source import value_at, with_value
from sim_runtime.random_streams import RandomStreams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from random import Random

    from broker_scenarios.language.kinds import Complain
    from broker_sim.yaml_source import KeyPath, Source

__all__ = [
    "CHANCE",
    "CHANCE_MEANING",
    "DRAW_SCHEMA",
    "Draws",
    "check_draw",
    "is_draw",
    "name_of",
    "rules_by_chance",
    "without_chance",
]

RULES: Final = "rules"
CHANCE: Final = "chance"
CHANCE_MEANING: Final = "the share of the seeds that have the rule, from 0 to 1; no other rule can name it then"

UNIFORM: Final = "uniform"
ONE_OF: Final = "one_of"

DRAW_SCHEMA: Final[dict[str, Any]] = {
    "description": "a value that the seed draws: from a range of numbers, or one of some values",
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": 1,
    "properties": {
        UNIFORM: {
            "description": "the lowest and the highest number; whole ones draw a whole number",
            "examples": [[1, 5]],
            "type": "array",
            "items": {"type": "number"},
            "minItems": 2,
            "maxItems": 2,
        },
        ONE_OF: {
            "description": "the values, each as likely as the others",
            "examples": [[1, 5, 20]],
            "type": "array",
            "items": {"type": ["number", "string", "boolean"]},
            "minItems": 1,
        },
    },
    "examples": [{UNIFORM: [1, 5]}, {ONE_OF: [1, 5, 20]}],
}


def is_draw(value: object) -> bool:
    """Return True for a mapping that is meant as a draw."""
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in (UNIFORM, ONE_OF)


def check_draw(
    value: Mapping[str, Any], path: KeyPath, complain: Complain, check: Callable[[object, KeyPath, Complain], None]
) -> None:
    """Check a draw: its form, and with `check` each value that it names."""
    ((form, given),) = value.items()
    if not isinstance(given, list) or not given:
        complain((*path, form), f"expected a list of values, not {given!r}")
        return
    for place, each in enumerate(given):
        check(each, (*path, form, place), complain)
    if form == UNIFORM:
        numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in given)
        if len(given) != 2 or not numbers or given[0] > given[1]:
            complain((*path, form), f"expected the lowest and the highest number, not {given!r}")


def name_of(path: KeyPath) -> str:
    """Return the name of the draw at a path: `clients.app.load.records`."""
    return ".".join(map(str, path))


def rules_by_chance(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the rules that a seed may leave out."""
    return tuple(name for name, rule in document.get(RULES, {}).items() if CHANCE in rule)


def without_chance(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule as the grammar of faults reads it."""
    return {key: value for key, value in rule.items() if key != CHANCE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """The draws of a file, or of its flip: the paths of their keys, and the rules with a chance."""

    source: Source
    places: tuple[KeyPath, ...]
    rules: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all draws."""
        return (*map(name_of, self.places), *map(_name_of_chance, self.rules))

    def ends(self) -> tuple[Source, Source]:
        """The file with all first values, and with all last ones and no rule that may be missing.

        What holds for both is checked before any run.
        """
        first, last = ({name_of(path): self._values(path)[end] for path in self.places} for end in (0, -1))
        some = {_name_of_chance(rule): True for rule in self.rules}
        return self._with(first | some), self._with(last | dict.fromkeys(some, False))

    def drawn(self, seed: int, replayed: Mapping[str, Any]) -> tuple[Source, dict[str, Any]]:
        """Return the file with the values of a seed, and these by name. `replayed` takes precedence."""
        streams = RandomStreams(seed)
        made: dict[str, Any] = {}
        for path in self.places:
            name = name_of(path)
            made[name] = replayed[name] if name in replayed else _draw(streams, name, value_at(self.source.value, path))
        for rule in self.rules:
            name = _name_of_chance(rule)
            chance = self.source.value[RULES][rule][CHANCE]
            made[name] = replayed[name] if name in replayed else _stream_of(streams, name).random() < chance
        return self._with(made), made

    def refuse_unknown(self, names: Iterator[str]) -> None:
        """Raise ScenarioError for a name that is no draw."""
        known = self.names
        for name in names:
            if name not in known:
                raise ScenarioError(f"{self.source.file}: {name!r} is no draw{nearest(name, known)}")

    def _values(self, path: KeyPath) -> list[Any]:
        (values,) = value_at(self.source.value, path).values()
        return list(values)

    def _with(self, made: Mapping[str, Any]) -> Source:
        """The file with the values of all draws, by name."""
        value = self.source.value
        for path in self.places:
            value = with_value(value, path, made[name_of(path)])
        if self.rules:
            rules = {
                name: without_chance(rule)
                for name, rule in value[RULES].items()
                if name not in self.rules or made[_name_of_chance(name)]
            }
            value = {**value, RULES: rules}
        return type(self.source)(self.source.file, value, self.source.marks)


def _name_of_chance(rule: str) -> str:
    return name_of((RULES, rule, CHANCE))


def _draw(streams: RandomStreams, name: str, draw: Mapping[str, Any]) -> Any:
    ((form, values),) = draw.items()
    random = _stream_of(streams, name)
    if form == ONE_OF:
        return values[random.randrange(len(values))]
    low, high = values
    whole = isinstance(low, int) and isinstance(high, int)
    return random.randint(low, high) if whole else random.uniform(low, high)


def _stream_of(streams: RandomStreams, name: str) -> Random:
    return streams.stream(f"draw {name}")

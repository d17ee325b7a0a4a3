"""Numbers that a scenario file leaves to the seed: `{uniform: [1, 5]}`, or `{one_of: [1, 5, 20]}`.

Each draw has a name, the path of its key, and a random stream of that name: taking one away shifts no other. Both sides
of a flip draw the same. The rules of a file have draws of their own, in the grammar of faults.
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

    from broker_scenarios.language.kinds import Complain
    from broker_sim.yaml_source import KeyPath, Source

__all__ = ["DRAW_SCHEMA", "Draws", "check_draw", "is_draw", "name_of"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """The draws of a file, or of its flip; `places` are the paths of their keys."""

    source: Source
    places: tuple[KeyPath, ...]

    def ends(self) -> tuple[Source, Source]:
        """The file with every first value, and with every last one: what holds for both is checked before any run."""
        return self._with(lambda _, values: values[0]), self._with(lambda _, values: values[-1])

    def drawn(self, seed: int, replayed: Mapping[str, Any]) -> tuple[Source, dict[str, Any]]:
        """Return the file with the values of a seed, and these by name. `replayed` takes precedence."""
        streams = RandomStreams(seed)
        made: dict[str, Any] = {}
        for path in self.places:
            name = name_of(path)
            made[name] = replayed[name] if name in replayed else _draw(streams, name, value_at(self.source.value, path))
        return self._with(lambda path, _: made[name_of(path)]), made

    def refuse_unknown(self, names: Iterator[str]) -> None:
        """Raise ScenarioError for a name that is no draw."""
        known = [name_of(path) for path in self.places]
        for name in names:
            if name not in known:
                raise ScenarioError(f"{self.source.file}: {name!r} is no draw{nearest(name, known)}")

    def _with(self, value_of: Callable[[KeyPath, list[Any]], Any]) -> Source:
        """The file with a value in place of each draw."""
        value = self.source.value
        for path in self.places:
            (values,) = value_at(self.source.value, path).values()
            value = with_value(value, path, value_of(path, values))
        return type(self.source)(self.source.file, value, self.source.marks)


def _draw(streams: RandomStreams, name: str, draw: Mapping[str, Any]) -> Any:
    ((form, values),) = draw.items()
    random = streams.stream(f"draw {name}")
    if form == ONE_OF:
        return values[random.randrange(len(values))]
    low, high = values
    whole = isinstance(low, int) and isinstance(high, int)
    return random.randint(low, high) if whole else random.uniform(low, high)

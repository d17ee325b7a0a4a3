"""The kinds of values in a scenario file: each checks a value, names its mistakes and describes itself as JSON schema.

A mistake names the file, the line, the key, what was expected and the nearest right spelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

from broker_scenarios.language.draws import check_draw, is_draw
from broker_sim.errors import nearest, unknown_key

if TYPE_CHECKING:
    from broker_sim.yaml_source import KeyPath

__all__ = [
    "Choice",
    "Complain",
    "Config",
    "Count",
    "CountsByName",
    "Flag",
    "Key",
    "Keys",
    "Kind",
    "ListOf",
    "Named",
    "Nothing",
    "Number",
    "Text",
    "Whole",
    "parse_count",
    "places_of_draws",
    "shown",
]

Complain: TypeAlias = Callable[["KeyPath", str], None]
"""Takes the path of a key and what is wrong with it."""

_COUNT: Final = re.compile(r"(>=|<=)?[ ]*([0-9]+)")


class Kind(Protocol):
    """A kind of value."""

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Report every mistake in `value` to `complain`."""

    def schema(self) -> dict[str, Any]:
        """The JSON schema of such values."""


@runtime_checkable
class Nested(Protocol):
    """A kind whose values have values in them."""

    def children(self, value: object) -> Iterator[tuple[str | int | None, Kind, object]]:
        """Return the key, the kind and the value of each; no key for the value itself as another kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text, perhaps one of a few, or with `draws` a draw of one."""

    one_of: tuple[str, ...] = ()
    draws: bool = False

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse other types, the empty text, and texts that are not among the choices."""
        if self.draws and is_draw(value):
            check_draw(value, path, complain, self._check)  # type: ignore[arg-type]
        else:
            self._check(value, path, complain)

    def _check(self, value: object, path: KeyPath, complain: Complain) -> None:
        if not isinstance(value, str) or not value:
            quotes = (
                f'; a number is a text in quotes: "{value}"' if type(value) in {int, float} and not self.one_of else ""
            )
            complain(path, f"expected {self._expected()}, not {shown(value)}{quotes}")
        elif self.one_of and value not in self.one_of:
            complain(path, f"expected {self._expected()}, not {value!r}{nearest(value, self.one_of)}")

    def schema(self) -> dict[str, Any]:
        """A string, with its choices."""
        text = {"type": "string", "enum": list(self.one_of)} if self.one_of else {"type": "string", "minLength": 1}
        return _or_draw(text, draws=self.draws)

    def _expected(self) -> str:
        return f"one of {', '.join(self.one_of)}" if self.one_of else "a text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A whole number between two limits, or with `draws` a draw of one."""

    at_least: int
    at_most: int
    draws: bool = True

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse values other than whole numbers between the limits."""
        if self.draws and is_draw(value):
            check_draw(value, path, complain, self._check)  # type: ignore[arg-type]
        else:
            self._check(value, path, complain)

    def _check(self, value: object, path: KeyPath, complain: Complain) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not self.at_least <= value <= self.at_most:
            complain(path, f"expected a whole number from {self.at_least} to {self.at_most}, not {shown(value)}")

    def schema(self) -> dict[str, Any]:
        """An integer with its limits."""
        return _or_draw({"type": "integer", "minimum": self.at_least, "maximum": self.at_most}, draws=self.draws)


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number between two limits, or with `draws` a draw of one."""

    at_least: float
    at_most: float
    draws: bool = True

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse values other than numbers between the limits."""
        if self.draws and is_draw(value):
            check_draw(value, path, complain, self._check)  # type: ignore[arg-type]
        else:
            self._check(value, path, complain)

    def _check(self, value: object, path: KeyPath, complain: Complain) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.at_least <= value <= self.at_most:
            complain(path, f"expected a number from {self.at_least} to {self.at_most}, not {shown(value)}")

    def schema(self) -> dict[str, Any]:
        """A number with its limits."""
        return _or_draw({"type": "number", "minimum": self.at_least, "maximum": self.at_most}, draws=self.draws)


@dataclass(frozen=True, slots=True)
class Config:
    """Kafka configurations by name; the broker, the topic and the producer check names and values themselves."""

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse values other than mappings of names to single values."""
        if not isinstance(value, dict):
            complain(path, f"expected configuration names with values, not {shown(value)}")
            return
        for name, setting in value.items():
            if is_draw(setting):
                check_draw(setting, (*path, name), complain, self._check)
            else:
                self._check(setting, (*path, name), complain)

    def _check(self, value: object, path: KeyPath, complain: Complain) -> None:
        if not isinstance(value, str | int | float | bool):
            complain(path, f"expected a text, a number or a boolean, not {shown(value)}")

    def schema(self) -> dict[str, Any]:
        """An object of scalars."""
        return {
            "type": "object",
            "additionalProperties": _or_draw({"type": ["string", "number", "boolean"]}, draws=True),
        }


@dataclass(frozen=True, slots=True)
class Count:
    """How many: a number, or a text such as `>= 1`."""

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse values other than counts."""
        if isinstance(value, bool) or not isinstance(value, int | str) or not _COUNT.fullmatch(str(value)):
            complain(path, f"expected a number, '>= N' or '<= N', not {shown(value)}")

    def schema(self) -> dict[str, Any]:
        """An integer, or a comparison."""
        return {"oneOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": f"^{_COUNT.pattern}$"}]}


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsByName:
    """A mapping of some of the known names to counts. `expected` describes them; `aliases` are what is not one."""

    names: tuple[str, ...]
    expected: str
    aliases: Mapping[str, str] = field(default_factory=dict)

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse unknown names, and check each count."""
        if not isinstance(value, dict):
            complain(path, f"expected counts by name, not {shown(value)}")
            return
        for name, count in value.items():
            if name not in self.names:
                complain((*path, name), f"unknown name; expected {self.expected}{self.nearest_name(name)}")
            Count().check(count, (*path, name), complain)

    def nearest_name(self, name: object) -> str:
        """Return the hint at the name that an alias stands for, or at the nearest one."""
        alias = self.aliases.get(str(name))
        return nearest(str(name), self.names) if alias is None else f"; did you mean {alias!r}?"

    def schema(self) -> dict[str, Any]:
        """An object with some of the names."""
        return {"type": "object", "propertyNames": {"enum": list(self.names)}, "additionalProperties": Count().schema()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A mapping of free names to values of one kind."""

    value: Kind
    what: str
    name: re.Pattern[str] = re.compile(r".+")

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Check the names and each value."""
        if not isinstance(value, dict):
            complain(path, f"expected {self.what} by name, not {shown(value)}")
            return
        for name, item in value.items():
            if not self.name.fullmatch(name):
                complain((*path, name), f"{name!r} is no name of {self.what}: expected {self.name.pattern}")
            self.value.check(item, (*path, name), complain)

    def children(self, value: object) -> Iterator[tuple[str | int | None, Kind, object]]:
        """Return each value with its kind."""
        if isinstance(value, dict):
            yield from ((name, self.value, each) for name, each in value.items())

    def schema(self) -> dict[str, Any]:
        """An object of such values."""
        names = {"pattern": f"^{self.name.pattern}$"}
        return {"type": "object", "propertyNames": names, "additionalProperties": self.value.schema()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf:
    """A list of at least one value of one kind."""

    value: Kind

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse empty lists, and check each value."""
        if not isinstance(value, list) or not value:
            complain(path, f"expected a list with at least one value, not {shown(value)}")
            return
        for place, item in enumerate(value):
            self.value.check(item, (*path, place), complain)

    def children(self, value: object) -> Iterator[tuple[str | int | None, Kind, object]]:
        """Return each value with its kind."""
        if isinstance(value, list):
            yield from ((place, self.value, each) for place, each in enumerate(value))

    def schema(self) -> dict[str, Any]:
        """An array of such values. A `base` brings no part of one, so that a mapping has its required keys here."""
        items = self.value.schema()
        if isinstance(self.value, Keys) and self.value.required:
            items["required"] = list(self.value.required)
        return {"type": "array", "minItems": 1, "items": items}


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse everything else."""
        if not isinstance(value, bool):
            complain(path, f"expected true or false, not {shown(value)}")

    def schema(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Nothing:
    """No value: the key alone is enough."""

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse every value."""
        if value is not None:
            complain(path, f"takes no value, not {shown(value)}")

    def schema(self) -> dict[str, Any]:
        """Null."""
        return {"type": "null"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A value of one of several kinds, distinguished by their types: each kind but the last has a test of the value."""

    kinds: tuple[tuple[Callable[[object], bool], Kind], ...]
    otherwise: Kind

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Check the value as the first kind that it fits."""
        self.kind_of(value).check(value, path, complain)

    def kind_of(self, value: object) -> Kind:
        """Return the kind that the value is checked as; a draw is one of a number, if there is such a kind."""
        numbers = [kind for _, kind in self.kinds if isinstance(kind, Whole | Number) and kind.draws]
        if numbers and is_draw(value):
            return numbers[0]
        return next((kind for fits, kind in self.kinds if fits(value)), self.otherwise)

    def children(self, value: object) -> Iterator[tuple[str | int | None, Kind, object]]:
        """Return the value itself with its kind, which has no key of its own."""
        yield None, self.kind_of(value), value

    def schema(self) -> dict[str, Any]:
        """Any of the kinds."""
        return {"anyOf": [*(kind.schema() for _, kind in self.kinds), self.otherwise.schema()]}


class Key(NamedTuple):
    """One key of a mapping: the kind of its value, what it means, and an example of a value."""

    kind: Kind
    meaning: str
    example: object

    def schema(self) -> dict[str, Any]:
        """The schema of the value, with the description and the example."""
        return self.kind.schema() | {"description": self.meaning, "examples": [self.example]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """A mapping with known keys."""

    keys: Mapping[str, Key]
    required: tuple[str, ...] = ()

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse unknown keys, report missing ones, and check each value."""
        if not isinstance(value, dict):
            complain(path, f"expected a mapping with {', '.join(self.keys)}, not {shown(value)}")
            return
        for name, item in value.items():
            if name not in self.keys:
                complain((*path, name), unknown_key(name, self.keys))
            else:
                self.keys[name].kind.check(item, (*path, name), complain)
        for name in self.required:
            if name not in value:
                complain((*path, name), f"missing: {self.keys[name].meaning}")

    def children(self, value: object) -> Iterator[tuple[str | int | None, Kind, object]]:
        """Return each value with its kind."""
        if isinstance(value, dict):
            yield from ((name, self.keys[name].kind, each) for name, each in value.items() if name in self.keys)

    def schema(self) -> dict[str, Any]:
        """An object with these properties alone; none is required, for a `base` may bring it."""
        properties = {name: key.schema() for name, key in self.keys.items()}
        return {"type": "object", "additionalProperties": False, "properties": properties}


def places_of_draws(kind: Kind, value: object, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Return the paths of the draws in a checked value."""
    if is_draw(value) and isinstance(kind, Whole | Number | Text) and kind.draws:
        yield path
    elif isinstance(kind, Config) and isinstance(value, dict):
        yield from ((*path, name) for name, each in value.items() if is_draw(each))
    elif isinstance(kind, Nested):
        for key, inner, each in kind.children(value):
            yield from places_of_draws(inner, each, path if key is None else (*path, key))


def _or_draw(schema: dict[str, Any], *, draws: bool) -> dict[str, Any]:
    return {"anyOf": [schema, {"$ref": "#/$defs/draw"}]} if draws else schema


def shown(value: object) -> str:
    """A value for an error message, cut when it is long."""
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def parse_count(value: int | str) -> tuple[int, int | None]:
    """`3` -> (3, 3), `>= 3` -> (3, None), `<= 3` -> (0, 3)."""
    match = _COUNT.fullmatch(str(value))
    assert match is not None, "the schema has checked it"
    sign, number = match[1], int(match[2])
    if sign == ">=":
        return number, None
    return (0 if sign == "<=" else number), number

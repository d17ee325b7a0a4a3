"""The forms of written values in rules: each parses a value, names what is wrong with it, and has a JSON schema.

An action composes its `form` from these, so that Python, YAML, editors and the docs share one description.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from broker_sim.errors import nearest, unknown_key
from broker_sim.faults.rule import (
    ActiveController,
    AnyBroker,
    BrokerRef,
    CoordinatorOf,
    Drawable,
    FollowerOf,
    KilledBy,
    LeaderOf,
    OneOf,
    Range,
    RuleError,
    Self,
)
from broker_sim.topic_partition import TopicPartition
from protocol_specs import releases
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import UnknownRelease

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "BROKER",
    "LOG_DIR",
    "PARTITION",
    "Anything",
    "Broker",
    "Built",
    "Choice",
    "ErrorCodeForm",
    "Fields",
    "Form",
    "ListOf",
    "Nothing",
    "Number",
    "Partition",
    "Path",
    "Schema",
    "Settings",
    "Text",
    "Truth",
    "Whole",
    "shown",
]

Path: TypeAlias = tuple[str, ...]
Schema: TypeAlias = dict[str, Any]

BROKER_FORMS: Final = (
    "a broker id, 'leader of TOPIC-PARTITION', 'any follower of TOPIC-PARTITION', 'coordinator of group GROUP', "
    "'coordinator of transaction ID', 'any', 'active controller', 'killed by RULE' or 'self'"
)
_PARTITION: Final = re.compile(r"([A-Za-z0-9._-]+)-([0-9]+)")
_ROLES: Final[Mapping[re.Pattern[str], Callable[..., BrokerRef]]] = {
    re.compile(r"self"): Self,
    re.compile(r"any"): AnyBroker,
    re.compile(r"active controller"): ActiveController,
    re.compile(r"leader of ([A-Za-z0-9._-]+)-([0-9]+)"): lambda topic, index: LeaderOf(topic, int(index)),
    re.compile(r"any follower of ([A-Za-z0-9._-]+)-([0-9]+)"): lambda topic, index: FollowerOf(topic, int(index)),
    re.compile(r"coordinator of (group|transaction) (.+)"): CoordinatorOf,
    re.compile(r"killed by (.+)"): KilledBy,
}


class Form(Protocol):
    """The form of one value."""

    def parse(self, value: object, path: Path) -> Any:
        """Return the value that is written. Raises RuleError with the path of the key that is wrong."""

    @property
    def schema(self) -> Schema:
        """The JSON schema, with a description and an example."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No value: the name of an action alone."""

    def parse(self, value: object, path: Path) -> None:
        """Accept no value, or true."""
        if value is not None and value is not True:
            raise RuleError(path, f"takes no value, not {shown(value)}")

    @property
    def schema(self) -> Schema:
        """Null or true."""
        return {"type": ["null", "boolean"]}


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is not empty."""

    description: str
    example: str

    def parse(self, value: object, path: Path) -> str:
        """Return the text."""
        if not isinstance(value, str) or not value:
            raise RuleError(path, f"expected a text, not {shown(value)}")
        return value

    @property
    def schema(self) -> Schema:
        """A string."""
        return {"type": "string", "minLength": 1, "description": self.description, "examples": [self.example]}


@dataclass(frozen=True, slots=True)
class ReleaseName:
    """A release, by its full name or by that of its minor."""

    description: str
    example: str

    def parse(self, value: object, path: Path) -> str:
        """Return the full name."""
        if not isinstance(value, str):
            raise RuleError(
                path, f"expected the name of a release in quotes, such as {self.example!r}, not {shown(value)}"
            )
        try:
            return releases.full_name(value)
        except UnknownRelease as error:
            raise RuleError(path, str(error)) from None

    @property
    def schema(self) -> Schema:
        """A string of numbers."""
        pattern = "^[0-9]+([.][0-9]+)+$"
        return {"type": "string", "pattern": pattern, "description": self.description, "examples": [self.example]}


@dataclass(frozen=True, slots=True)
class Truth:
    """True or false."""

    description: str
    example: bool = True

    def parse(self, value: object, path: Path) -> bool:
        """Return the value."""
        if not isinstance(value, bool):
            raise RuleError(path, f"expected true or false, not {shown(value)}")
        return value

    @property
    def schema(self) -> Schema:
        """A boolean."""
        return {"type": "boolean", "description": self.description, "examples": [self.example]}


@dataclass(frozen=True, slots=True)
class Number:
    """A number: one, `[low, high]` or `{uniform: [low, high]}` to draw from, or `{one_of: [...]}`.

    `drawable` is False for one number alone.

    `above` excludes its bound, `at_least` and `at_most` include theirs.
    """

    description: str
    example: object
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    drawable: bool = True

    def parse(self, value: object, path: Path) -> Drawable:
        """Return the number, or the range or choice to draw it from."""
        if self.drawable and isinstance(value, dict) and list(value) == ["uniform"]:
            value, path = value["uniform"], (*path, "uniform")
            if not isinstance(value, list):
                raise RuleError(path, f"expected [low, high], not {shown(value)}")
        if self.drawable and isinstance(value, list):
            if len(value) != 2:
                raise RuleError(path, f"expected a number or [low, high], not {shown(value)}")
            low, high = (self._one(item, path) for item in value)
            if low > high:
                raise RuleError(path, f"expected [low, high] with low not above high, not {shown(value)}")
            return Range(low, high, whole=isinstance(self, Whole))
        if self.drawable and isinstance(value, dict):
            choices = value.get("one_of")
            if list(value) != ["one_of"] or not isinstance(choices, list) or not choices:
                forms = "a number, [low, high], {uniform: [low, high]} or {one_of: [...]}"
                raise RuleError(path, f"expected {forms}, not {shown(value)}")
            return OneOf(tuple(self._one(item, (*path, "one_of")) for item in choices))
        return self._one(value, path)

    def _one(self, value: object, path: Path) -> float:
        if not self._is_number(value) or not self._is_in_bounds(value):
            raise RuleError(path, f"expected {self._expected}, not {shown(value)}")
        return value  # type: ignore[return-value]

    def _is_number(self, value: object) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool)

    def _is_in_bounds(self, value: Any) -> bool:
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
            and (self.above is None or value > self.above)
        )

    @property
    def _expected(self) -> str:
        bounds = [
            f"{text} {bound:g}"
            for text, bound in (("above", self.above), ("of at least", self.at_least), ("up to", self.at_most))
            if bound is not None
        ]
        return f"{self._noun} {' and '.join(bounds)}".rstrip()

    @property
    def _noun(self) -> str:
        return "a number"

    @property
    def _type(self) -> str:
        return "number"

    @property
    def schema(self) -> Schema:
        """A number, an array of two or an object with `uniform` or `one_of`."""
        bounds = {"minimum": self.at_least, "maximum": self.at_most, "exclusiveMinimum": self.above}
        number: Schema = {"type": self._type} | {key: bound for key, bound in bounds.items() if bound is not None}
        described = {"description": self.description, "examples": [self.example]}
        if not self.drawable:
            return number | described
        drawn = {"type": "array", "items": number, "minItems": 2, "maxItems": 2}
        chosen = {
            "type": "object",
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 1,
            "properties": {"uniform": drawn, "one_of": {"type": "array", "items": number, "minItems": 1}},
        }
        return {"oneOf": [number, drawn, chosen]} | described


@dataclass(frozen=True, slots=True)
class Whole(Number):
    """A whole number, in the same three forms."""

    def _is_number(self, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool)

    @property
    def _noun(self) -> str:
        return "a whole number"

    @property
    def _type(self) -> str:
        return "integer"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some names."""

    description: str
    names: tuple[str, ...]

    def parse(self, value: object, path: Path) -> str:
        """Return the name."""
        if not isinstance(value, str) or value not in self.names:
            hint = nearest(value, self.names) if isinstance(value, str) else ""
            raise RuleError(path, f"expected one of {', '.join(self.names)}, not {shown(value)}{hint}")
        return value

    @property
    def schema(self) -> Schema:
        """An enumeration."""
        return {"enum": list(self.names), "description": self.description, "examples": [self.names[0]]}


@dataclass(frozen=True, slots=True)
class ErrorCodeForm:
    """A Kafka error code by name or number."""

    example: str = "NOT_LEADER_OR_FOLLOWER"

    def parse(self, value: object, path: Path) -> ErrorCode:
        """Return the code."""
        names = [code.name for code in ErrorCode]
        if isinstance(value, int) and not isinstance(value, bool):
            if value in [int(code) for code in ErrorCode]:
                return ErrorCode(value)
        elif isinstance(value, str) and value.upper() in names:
            return ErrorCode[value.upper()]
        hint = nearest(value.upper(), names) if isinstance(value, str) else ""
        raise RuleError(path, f"expected a Kafka error code by name or number, not {shown(value)}{hint}")

    @property
    def schema(self) -> Schema:
        """A number or a name."""
        return {
            "oneOf": [{"type": "integer"}, {"enum": [code.name for code in ErrorCode]}],
            "description": "a Kafka error code by name or number",
            "examples": [self.example],
        }


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value; the action checks it."""

    description: str
    example: object

    def parse(self, value: object, path: Path) -> object:  # noqa: ARG002 - as every form
        """Return the value."""
        return value

    @property
    def schema(self) -> Schema:
        """Any."""
        return {"description": self.description, "examples": [self.example]}


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker by its id or by its role."""

    description: str = (
        "the id of a broker or controller, `leader of TOPIC-PARTITION`, `any follower of TOPIC-PARTITION`, "
        "`coordinator of group GROUP`, `coordinator of transaction ID`, `any` (one that runs, drawn by the seed), "
        "`active controller`, `killed by RULE`, or `self`: the broker that serves the request"
    )

    def parse(self, value: object, path: Path) -> BrokerRef:
        """Return the reference."""
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        text = value if isinstance(value, str) else ""
        for pattern, role in _ROLES.items():
            if match := pattern.fullmatch(text):
                return role(*match.groups())
        raise RuleError(path, f"expected {BROKER_FORMS}, not {shown(value)}")

    @property
    def schema(self) -> Schema:
        """A number or a text."""
        return {
            "description": self.description,
            "oneOf": [
                {"type": "integer"},
                {"type": "string", "pattern": f"^({'|'.join(pattern.pattern for pattern in _ROLES)})$"},
            ],
            "examples": [2],
        }


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition, as `orders-0`."""

    description: str = "a partition, as `orders-0`"

    def parse(self, value: object, path: Path) -> TopicPartition:
        """Return the topic and the partition."""
        found = _PARTITION.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            raise RuleError(path, f"expected a partition such as orders-0, not {shown(value)}")
        return TopicPartition(found[1], int(found[2]))

    @property
    def schema(self) -> Schema:
        """A string."""
        pattern = f"^{_PARTITION.pattern}$"
        return {"type": "string", "pattern": pattern, "description": self.description, "examples": ["orders-0"]}


@dataclass(frozen=True, slots=True)
class Settings:
    """A mapping of names to values; `null` removes one. With `numbers` the values are numbers, else texts."""

    description: str
    example: Mapping[str, object]
    numbers: bool = False

    def parse(self, value: object, path: Path) -> dict[str, Any]:
        """Return the values: as Kafka writes them, where they are texts."""
        if not isinstance(value, dict) or not value:
            raise RuleError(path, f"expected a mapping of names to values, not {shown(value)}")
        return {str(name): self._one(each, (*path, str(name))) for name, each in value.items()}

    def _one(self, value: object, path: Path) -> str | float | None:
        if value is None:
            return None
        if self.numbers:
            return Number("", 0, drawable=False).parse(value, path)  # type: ignore[return-value]
        if not isinstance(value, str | int | float):
            raise RuleError(path, f"expected a text, a number or true or false, not {shown(value)}")
        return str(value).lower() if isinstance(value, bool) else str(value)

    @property
    def schema(self) -> Schema:
        """An object."""
        types = ["number", "null"] if self.numbers else ["string", "number", "boolean", "null"]
        values = {"type": types}
        return {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": values,
            "description": self.description,
            "examples": [dict(self.example)],
        }


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of values of one form, or one such value alone."""

    form: Form
    description: str
    at_least: int = 1

    def parse(self, value: object, path: Path) -> tuple[Any, ...]:
        """Return the values."""
        items = value if isinstance(value, list) else [value]
        if len(items) < self.at_least:
            raise RuleError(path, f"expected at least {self.at_least}, not {shown(value)}")
        return tuple(self.form.parse(item, path) for item in items)

    @property
    def schema(self) -> Schema:
        """One or an array of them."""
        one = self.form.schema
        return {
            "oneOf": [one, {"type": "array", "items": one, "minItems": self.at_least}],
            "description": self.description,
            "examples": [one["examples"] * max(1, self.at_least)],
        }


@dataclass(frozen=True, slots=True)
class Built:
    """An object that is made from the values of a form with names."""

    make: Callable[..., Any]
    fields: Fields

    def parse(self, value: object, path: Path) -> Any:
        """Return the object."""
        return self.make(**self.fields.parse(value, path))

    @property
    def schema(self) -> Schema:
        """That of the form."""
        return self.fields.schema


class Fields:
    """A mapping of names to values. `alone` is the field that may stand without the mapping: `kill: 2`.

    Of each group in `one_of` exactly one field is given, of each in `any_of` at least one.
    """

    def __init__(
        self,
        forms: Mapping[str, Form] | None = None,
        *,
        required: Sequence[str] = (),
        alone: str | None = None,
        one_of: Sequence[Sequence[str]] = (),
        any_of: Sequence[Sequence[str]] = (),
        description: str | None = None,
        **more: Form,
    ) -> None:
        self.forms: Mapping[str, Form] = {**(forms or {}), **more}
        self.required = tuple(required)
        self.alone = alone
        self.one_of = one_of
        self.any_of = any_of
        self._description = description

    def parse(self, value: object, path: Path) -> dict[str, Any]:
        """Return the values by name."""
        if self.alone is not None and not isinstance(value, dict):
            given: Mapping[str, object] = {self.alone: value}
            try:
                parsed = {self.alone: self.forms[self.alone].parse(value, path)}
            except RuleError as error:
                if len(self.forms) == 1 or error.path != path:
                    raise
                raise RuleError(path, f"{error.problem}; or a mapping with {', '.join(self.forms)}") from None
        else:
            given = mapping(value, path, tuple(self.forms))
            for name in self.required:
                if name not in given:
                    raise RuleError((*path, name), f"missing; expected {self._described(name)}")
            parsed = {name: self.forms[name].parse(each, (*path, name)) for name, each in given.items()}
        for group in self.one_of:
            found = [name for name in group if name in given]
            if len(found) != 1:
                raise RuleError(path, f"expected one of {', '.join(group)}, not {' and '.join(found) or 'none'}")
        for group in self.any_of:
            if not any(name in given for name in group):
                raise RuleError(path, f"expected at least one of {', '.join(group)}")
        return parsed

    def _described(self, name: str) -> str:
        form = self.forms[name]
        return BROKER_FORMS if isinstance(form, Broker) else str(form.schema["description"])

    @property
    def schema(self) -> Schema:
        """An object, or the value that may stand alone."""
        properties = {name: form.schema for name, form in self.forms.items()}
        shown_first = dict.fromkeys([*self.required, *(group[0] for group in (*self.one_of, *self.any_of))])
        example = {name: properties[name]["examples"][0] for name in shown_first or properties}
        keys = ", ".join(f"`{name}`" for name in properties)
        whole: Schema = {
            "type": "object",
            "additionalProperties": False,
            "properties": properties,
            "description": self._description or f"a mapping with {keys}",
            "examples": [example],
        }
        if self.required:
            whole["required"] = list(self.required)
        if self.alone is None:
            return whole
        one = properties[self.alone]
        if len(properties) == 1:
            return one
        return {
            "oneOf": [*one.get("oneOf", [one]), whole],
            "description": self._description or f"{_article(self.alone)}, or a mapping with {keys}",
            "examples": [example],
        }


PARTITION: Final = Partition()
LOG_DIR: Final = Text("the name of a log directory", "logs-2")
BROKER: Final = Broker()


def mapping(value: object, path: Path, known: Sequence[str]) -> Mapping[str, Any]:
    """Return a mapping whose keys are known. Raises RuleError."""
    if not isinstance(value, dict):
        raise RuleError(path, f"expected a mapping with {', '.join(known)}, not {shown(value)}")
    for key in value:
        if key not in known:
            raise RuleError((*path, str(key)), unknown_key(str(key), known))
    return value


def shown(value: object) -> str:
    """Return a value for an error text, short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun.replace('_', ' ')}"

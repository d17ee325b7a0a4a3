"""The keys of a scenario file, declared once: checked with line numbers here, published as a JSON schema for editors.

Each part of the file is a `Kind` that checks a value and describes itself. A mistake names the file, the line, the key,
what was expected and the nearest right spelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from broker_scenarios.expectations import COUNT_HELP, EXPECTABLE
from broker_scenarios.verdict import Validity
from broker_scenarios.workloads.values import VALUE_BYTES_MIN
from broker_sim.errors import nearest
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.rule import RuleError
from broker_sim.faults.rule_schema import RULE_SCHEMA
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_scenarios.language.yaml_source import KeyPath

__all__ = ["SCENARIO", "Complain", "json_schema"]

Complain: TypeAlias = Callable[["KeyPath", str], None]
"""Takes the path of a key and what is wrong with it."""

DISKS: Final = ("memory", "virtual")
_COUNT: Final = re.compile(r"(>=|<=)?[ ]*([0-9]+)")
_TOPIC_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")


class Kind(Protocol):
    """A kind of value."""

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Report every mistake in `value` to `complain`."""

    def schema(self) -> dict[str, Any]:
        """The JSON schema of such values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text, perhaps one of a few."""

    one_of: tuple[str, ...] = ()

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse other types, the empty text, and texts that are not among the choices."""
        if not isinstance(value, str) or not value:
            complain(path, f"expected {self._expected()}, not {shown(value)}")
        elif self.one_of and value not in self.one_of:
            complain(path, f"expected {self._expected()}, not {value!r}{nearest(value, self.one_of)}")

    def schema(self) -> dict[str, Any]:
        """A string, with its choices."""
        return {"type": "string", "enum": list(self.one_of)} if self.one_of else {"type": "string", "minLength": 1}

    def _expected(self) -> str:
        return f"one of {', '.join(self.one_of)}" if self.one_of else "a text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A whole number between two limits."""

    at_least: int
    at_most: int

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse values other than whole numbers between the limits."""
        if isinstance(value, bool) or not isinstance(value, int) or not self.at_least <= value <= self.at_most:
            complain(path, f"expected a whole number from {self.at_least} to {self.at_most}, not {shown(value)}")

    def schema(self) -> dict[str, Any]:
        """An integer with its limits."""
        return {"type": "integer", "minimum": self.at_least, "maximum": self.at_most}


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number between two limits."""

    at_least: float
    at_most: float

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse values other than numbers between the limits."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.at_least <= value <= self.at_most:
            complain(path, f"expected a number from {self.at_least} to {self.at_most}, not {shown(value)}")

    def schema(self) -> dict[str, Any]:
        """A number with its limits."""
        return {"type": "number", "minimum": self.at_least, "maximum": self.at_most}


@dataclass(frozen=True, slots=True)
class Config:
    """Kafka configurations by name; the broker, the topic and the producer check names and values themselves."""

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse values other than mappings of names to single values."""
        if not isinstance(value, dict):
            complain(path, f"expected configuration names with values, not {shown(value)}")
            return
        for name, setting in value.items():
            if not isinstance(setting, str | int | float | bool):
                complain((*path, name), f"expected a text, a number or a boolean, not {shown(setting)}")

    def schema(self) -> dict[str, Any]:
        """An object of scalars."""
        return {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}


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
    """A mapping of some of the known names to counts."""

    names: tuple[str, ...]

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse unknown names, and check each count."""
        if not isinstance(value, dict):
            complain(path, f"expected counts by name, not {shown(value)}")
            return
        for name, count in value.items():
            if name not in self.names:
                complain(
                    (*path, name), f"unknown name, expected one such as {self.names[0]}{nearest(name, self.names)}"
                )
            Count().check(count, (*path, name), complain)

    def schema(self) -> dict[str, Any]:
        """An object with some of the names."""
        return {"type": "object", "propertyNames": {"enum": list(self.names)}, "additionalProperties": Count().schema()}


@dataclass(frozen=True, slots=True)
class RuleKind:
    """A fault rule; its name is its key."""

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Check the value by the grammar of the fault engine."""
        if not isinstance(value, dict):
            complain(path, f"expected a rule, not {shown(value)}")
            return
        if "name" in value:
            complain((*path, "name"), "a rule's name is its key")
            return
        try:
            parse_rule({**value, "name": str(path[-1])})
        except RuleError as error:
            complain((*path, *error.path), error.problem)

    def schema(self) -> dict[str, Any]:
        """The grammar's schema."""
        return RULE_SCHEMA


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

    def schema(self) -> dict[str, Any]:
        """An array of such values."""
        return {"type": "array", "minItems": 1, "items": self.value.schema()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """A mapping with known keys: name -> (kind, what it means)."""

    keys: Mapping[str, tuple[Kind, str]]
    required: tuple[str, ...] = ()

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse unknown keys, report missing ones, and check each value."""
        if not isinstance(value, dict):
            complain(path, f"expected a mapping with {', '.join(self.keys)}, not {shown(value)}")
            return
        for name, item in value.items():
            if name not in self.keys:
                known = ", ".join(self.keys)
                complain((*path, name), f"unknown key; expected one of {known}{nearest(name, self.keys)}")
            else:
                self.keys[name][0].check(item, (*path, name), complain)
        for name in self.required:
            if name not in value:
                complain((*path, name), f"missing: {self.keys[name][1]}")

    def schema(self) -> dict[str, Any]:
        """An object with these properties alone; none is required, for a `base` may bring it."""
        properties = {name: kind.schema() | {"description": doc} for name, (kind, doc) in self.keys.items()}
        return {"type": "object", "additionalProperties": False, "properties": properties}


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


_TOPIC: Final = Keys(
    keys={
        "partitions": (Whole(at_least=1, at_most=10_000), "how many partitions"),
        "replication_factor": (Whole(at_least=1, at_most=100), "how many replicas each partition has"),
        "config": (Config(), "topic configurations under Kafka's names"),
    },
    required=("partitions", "replication_factor"),
)
_SIZES: Final = Keys(
    keys={
        "bytes": (Whole(at_least=VALUE_BYTES_MIN, at_most=16_777_216), "a size of values, in bytes"),
        "share": (Number(at_least=0.000_001, at_most=1_000_000), "how often, beside the other sizes"),
    },
    required=("bytes",),
)
_LOAD: Final = Keys(
    keys={
        "topic": (Text(), "the topic to send to, the first one when not given"),
        "records": (Whole(at_least=1, at_most=1_000_000_000), "how many records all producers send together"),
        "producers": (Whole(at_least=1, at_most=1_000), "how many producers share the load"),
        "rate_per_second": (Number(at_least=0.001, at_most=1e9), "records a second, of all producers together"),
        "keys": (Whole(at_least=0, at_most=1_000_000), "how many keys there are; 0 sends records without keys"),
        "zipf": (Number(at_least=0, at_most=10), "how skewed the keys are: 0 is even"),
        "sizes": (ListOf(value=_SIZES), "the sizes of values"),
    },
    required=("records", "producers", "rate_per_second"),
)

SCENARIO: Final = Keys(
    keys={
        "title": (Text(), "what the scenario shows, in a line"),
        "claim": (Text(), "what is claimed, and why, in a few sentences"),
        "base": (Text(), "another scenario file: this file states only the differences"),
        "release": (Text(), "the Kafka release that the brokers emulate"),
        "seed": (Whole(at_least=0, at_most=2**63 - 1), "the seed of the run when the command line gives none"),
        "cluster": (
            Keys(
                keys={
                    "brokers": (Whole(at_least=1, at_most=100), "how many brokers"),
                    "config": (Config(), "broker configurations under Kafka's names"),
                    "disk": (
                        Text(one_of=DISKS),
                        "where logs are: `memory`, or `virtual`, a disk that loses power, fails, fills and is slow",
                    ),
                },
                required=("brokers",),
            ),
            "the cluster",
        ),
        "topics": (Named(value=_TOPIC, what="topics", name=_TOPIC_NAME), "the topics, by name"),
        "load": (_LOAD, "what is sent"),
        "producer": (Config(), "producer configurations under Kafka's names"),
        "rules": (Named(value=RuleKind(), what="fault rules"), "the faults, by name"),
        "expect": (
            Keys(
                keys={
                    "verdict": (
                        Text(one_of=(*(v.value for v in Validity), "any")),
                        "the verdict, valid when not given",
                    ),
                    "errors": (
                        CountsByName(names=tuple(code.name for code in ErrorCode if code > 0)),
                        "how many batches the brokers refuse with an error, by its name",
                    ),
                    **{name: (Count(), COUNT_HELP[name]) for name in EXPECTABLE},
                }
            ),
            "how the run must end",
        ),
        "deadline_s": (Number(at_least=1, at_most=86_400), "when the run is given up, in seconds"),
    },
    required=("title", "cluster", "topics", "load", "expect"),
)


def json_schema() -> dict[str, Any]:
    """The JSON schema of scenario files, for editors and other tools."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "broker-sim scenario",
        "description": "One claim about a Kafka cluster under faults: topology, load, faults and what must come of it.",
        **SCENARIO.schema(),
    }

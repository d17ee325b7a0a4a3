"""The definitions of broker and topic configurations of each emulated release. Mirrors ConfigDef.

They are data (`data/broker.json` and its neighbours), read once per process and release: each row is valid from a
release on, and optionally up to one. `describe_order` is the order in which DescribeConfigs lists them: that of a hash
table of Kafka's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_sim.config.release_behaviour import behaviour_of, release_number
from protocol_specs.java_hash import hash_order

if TYPE_CHECKING:
    from collections.abc import Mapping

ConfigValue: TypeAlias = bool | int | float | str | list[str] | None


class ConfigType(IntEnum):
    """A configuration's type and its number on the wire. Mirrors DescribeConfigsResponse.ConfigType."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Synonym:
    """A broker configuration that gives a topic configuration its default; `times` converts its unit."""

    name: str
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigDefinition:
    """One configuration: its type, default, allowed values, and how DescribeConfigs shows it."""

    name: str
    type: ConfigType
    default: ConfigValue
    required: bool
    minimum: float | None
    maximum: float | None
    also: tuple[int, ...]
    one_of: tuple[str, ...]
    ignore_case: bool
    list_of: tuple[str, ...]
    empty_items_refused: bool
    rule: str
    internal: bool
    sensitive: bool
    shown: bool
    update_mode: str
    synonyms: tuple[Synonym, ...]

    @property
    def read_only(self) -> bool:
        """True if a running broker rejects changes."""
        return self.update_mode == "read-only"


def broker_definitions(release: str) -> Mapping[str, ConfigDefinition]:
    """The broker configurations of a release by name, in the order of their names."""
    return _definitions("broker", behaviour_of(release).release)


def topic_definitions(release: str) -> Mapping[str, ConfigDefinition]:
    """The topic configurations of a release by name, in the order of their names."""
    return _definitions("topic", behaviour_of(release).release)


def group_definitions(release: str) -> Mapping[str, ConfigDefinition]:
    """The group configurations of a release by name; none before groups had any."""
    return _definitions("group", behaviour_of(release).release)


def client_metrics_definitions(release: str) -> Mapping[str, ConfigDefinition]:
    """The configurations of a client metrics subscription by name (KIP-714)."""
    return _definitions("client_metrics", behaviour_of(release).release)


@cache
def describe_order(kind: str, release: str) -> tuple[str, ...]:
    """The names of a kind (broker, topic, group, client_metrics) in the order of DescribeConfigs."""
    text = resources.files("broker_sim.config").joinpath("data", "describe_order.json").read_text(encoding="utf-8")
    shown = _definitions(kind, behaviour_of(release).release)
    orders = json.loads(text).get(kind, ())
    number = release_number(release)
    # KIP-133 came with 0.11: before the first recorded release no client can request them.
    names: list[str] = next(
        (order["names"] for order in reversed(orders) if release_number(order["since"]) <= number), []
    )
    if kind == "group":  # a plain HashMap
        names = hash_order(shown)
    return tuple(name for name in names if name in shown and shown[name].shown)


@cache
def oldest_definition(kind: str, name: str) -> ConfigDefinition | None:
    """Return the oldest definition of a configuration: the behaviour of releases before it."""
    return next((_definition(row, empty_items_refused=False) for row in _rows(kind) if row["name"] == name), None)


_TYPES: Final = {kind.name.lower(): kind for kind in ConfigType}


@cache
def _rows(kind: str) -> list[dict[str, object]]:
    text = resources.files("broker_sim.config").joinpath("data", f"{kind}.json").read_text(encoding="utf-8")
    rows: list[dict[str, object]] = json.loads(text)
    return rows


@cache
def _definitions(kind: str, release: str) -> Mapping[str, ConfigDefinition]:
    strict = behaviour_of(release).lists_refuse_empty_items
    number = release_number(release)
    rows = [_definition(row, empty_items_refused=strict) for row in _rows(kind) if _holds(row, number)]
    return MappingProxyType({row.name: row for row in sorted(rows, key=lambda row: row.name)})


def _holds(row: dict[str, object], number: tuple[int, ...]) -> bool:
    if number < release_number(str(row["since"])):
        return False
    return "until" not in row or number <= release_number(str(row["until"]))


def _definition(row: dict[str, object], *, empty_items_refused: bool) -> ConfigDefinition:
    valid = row.get("valid") or {}
    assert isinstance(valid, dict)
    default = row.get("default")
    assert default is None or isinstance(default, bool | int | float | str | list)
    synonyms = row.get("broker_synonyms") or ([{"name": row["broker_synonym"]}] if "broker_synonym" in row else [])
    assert isinstance(synonyms, list)
    return ConfigDefinition(
        name=str(row["name"]),
        type=_TYPES[str(row["type"])],
        default=default,
        required=bool(row.get("required", False)),
        minimum=valid.get("min"),
        maximum=valid.get("max"),
        also=tuple(valid.get("or", ())),
        one_of=tuple(valid.get("one_of") or valid.get("one_of_ignore_case") or ()),
        ignore_case="one_of_ignore_case" in valid,
        list_of=tuple(valid.get("list_of", ())),
        empty_items_refused=empty_items_refused,
        rule=str(valid.get("rule") or valid.get("format") or ""),
        internal=bool(row.get("internal", False)),
        sensitive=bool(row.get("sensitive", False)),
        shown=bool(row.get("in_describe_configs", True)),
        update_mode=str(row.get("update_mode", "")),
        synonyms=tuple(Synonym(name=item["name"], times=item.get("times", 1)) for item in synonyms),
    )

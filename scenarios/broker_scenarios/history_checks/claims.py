"""The contents of a promises file: configurations under Kafka's names, claims, and known faults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

import yaml

from broker_scenarios.errors import ScenarioError
from broker_scenarios.promises import Promises
from broker_sim.errors import nearest

if TYPE_CHECKING:
    from pathlib import Path

    from broker_scenarios.operations import Value

__all__ = ["Claims", "Fault", "read_claims"]

_CONFIGS: Final = (
    "acks",
    "enable.idempotence",
    "retries",
    "max.in.flight.requests.per.connection",
    "min.insync.replicas",
    "replication.factor",
    "unclean.leader.election.enable",
    "isolation.level",
    "transaction.timeout.ms",
    "delivery.timeout.ms",
    "cleanup.policy",
    "enable.auto.commit",
    "auto.offset.reset",
)
_CLAIMS: Final = ("transactional", "exactly-once", "key-order", "max.realtime-lag.ms", "liveness.deadline.ms")
_BESIDE: Final = ("topics", "keys", "log_start", "faults", "healthy")
_FAULT_KEYS: Final = ("kind", "key", "from_ms", "to_ms")
_FAULTS: Final = ("leader-crash", "leader-move", "unclean-election", "partition")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A known fault of a partition; without a key, of all."""

    kind: str
    key: str | None
    from_ms: float
    to_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """The configurations of clients and topics, and the claims beside them."""

    promises: Promises = field(default_factory=Promises)
    read_committed: bool = False
    transaction_timeout_ms: float = 60_000
    delivery_timeout_ms: float = 120_000
    is_compacted: bool = False
    exactly_once: bool = False
    key_order: bool = False
    max_realtime_lag_ms: float | None = None
    liveness_deadline_ms: float | None = None
    topics: Mapping[str, int] = field(default_factory=dict)
    keys: Mapping[Value, str] = field(default_factory=dict)
    """The message key of each value."""
    log_start: Mapping[str, int] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    healthy: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, given: Mapping[str, Any], name: str = "promises") -> Self:
        """Read the mapping of a promises file. Raises ScenarioError, which names the key."""
        known = (*_CONFIGS, *_CLAIMS, *_BESIDE)
        for key in given:
            if key not in known:
                raise ScenarioError(
                    f"{name}: {key}: unknown key; expected one of {', '.join(known)}{nearest(key, known)}"
                )
        configs = {key: _text(given[key]) for key in _CONFIGS if key in given}
        isolation = configs.get("isolation.level", "read_uncommitted")
        if isolation not in {"read_uncommitted", "read_committed"}:
            raise ScenarioError(f"{name}: isolation.level={isolation!r}: expected read_uncommitted or read_committed")
        factor = int(_number(given, "replication.factor", 1, name))
        return cls(
            promises=Promises.from_configs(configs, replication_factor=factor, broker=configs),
            read_committed=isolation == "read_committed",
            transaction_timeout_ms=_number(given, "transaction.timeout.ms", 60_000, name),
            delivery_timeout_ms=_number(given, "delivery.timeout.ms", 120_000, name),
            is_compacted="compact" in configs.get("cleanup.policy", "delete"),
            exactly_once=_flag(given, "exactly-once", name),
            key_order=_flag(given, "key-order", name),
            max_realtime_lag_ms=_optional(given, "max.realtime-lag.ms", name),
            liveness_deadline_ms=_optional(given, "liveness.deadline.ms", name),
            topics=_mapping(given, "topics", name),
            keys=_keys(given, name),
            log_start=_mapping(given, "log_start", name),
            faults=tuple(
                _fault(each, f"{name}: faults[{place}]") for place, each in enumerate(given.get("faults") or ())
            ),
            healthy=None if given.get("healthy") is None else tuple(given["healthy"]),
        )


def read_claims(path: Path) -> Claims:
    """Read a promises file, JSON or YAML. Raises ScenarioError."""
    try:
        text = path.read_text(encoding="utf-8")
        value = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise ScenarioError(f"promises {path}: {error.strerror}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise ScenarioError(f"promises {path}: neither JSON nor YAML: {error}") from None
    if not isinstance(value, dict):
        raise ScenarioError(f"promises {path}: expected a mapping of names to values")
    return Claims.parse(value, str(path))


def _text(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(given: Mapping[str, Any], key: str, default: float, name: str) -> float:
    found = _optional(given, key, name)
    return default if found is None else found


def _optional(given: Mapping[str, Any], key: str, name: str) -> float | None:
    value = given.get(key)
    if value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ScenarioError(f"{name}: {key}={value!r}: expected a number") from None


def _flag(given: Mapping[str, Any], key: str, name: str) -> bool:
    value = given.get(key, False)
    if value is None or isinstance(value, bool):
        return bool(value)
    if str(value).lower() in {"true", "false"}:
        return str(value).lower() == "true"
    raise ScenarioError(f"{name}: {key}={value!r}: expected true or false")


def _mapping(given: Mapping[str, Any], key: str, name: str) -> dict[str, int]:
    value = given.get(key) or {}
    if not isinstance(value, Mapping) or any(
        isinstance(each, bool) or not isinstance(each, int) for each in value.values()
    ):
        raise ScenarioError(f"{name}: {key}: expected whole numbers by name, not {value!r}")
    return dict(value)


def _keys(given: Mapping[str, Any], name: str) -> dict[Value, str]:
    """The message keys; a JSON object has texts as names, so that a numeric value is entered under its number too."""
    value = given.get("keys") or {}
    if not isinstance(value, Mapping):
        raise ScenarioError(f"{name}: keys: expected message keys by value, not {value!r}")
    keys: dict[Value, str] = {}
    for each, key in value.items():
        keys[each] = str(key)
        if isinstance(each, str) and each.lstrip("-").isdecimal():
            keys[int(each)] = str(key)
    return keys


def _fault(value: object, name: str) -> Fault:
    if not isinstance(value, Mapping):
        raise ScenarioError(f"{name}: expected a mapping with {', '.join(_FAULT_KEYS)}, not {value!r}")
    for key in value:
        if key not in _FAULT_KEYS:
            raise ScenarioError(f"{name}: {key}: unknown key; expected one of {', '.join(_FAULT_KEYS)}")
    if value.get("kind") not in _FAULTS:
        raise ScenarioError(f"{name}: kind: expected one of {', '.join(_FAULTS)}, not {value.get('kind')!r}")
    begin = _number(value, "from_ms", 0, name)
    return Fault(kind=value["kind"], key=value.get("key"), from_ms=begin, to_ms=_number(value, "to_ms", begin, name))

"""The promises file of a history: what was claimed, and what happened around the clients.

It has Kafka's configuration names and the claims on top, or under `promises`; beside them the message keys of values,
the offsets that retention left, the faults, and the partitions that are healthy.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.checks.whole_history import Limits
from broker_scenarios.errors import ScenarioError
from broker_scenarios.histories.json_text import DuplicateKeyError, parse_json
from broker_scenarios.operations import split_key
from broker_scenarios.promises import Promises
from broker_sim.errors import BrokerSimError, nearest
from broker_sim.yaml_source import parse_yaml
from sim_runtime.spelling import reason_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["CLAIMS", "CONFIGS", "FAULT_KINDS", "Circumstances", "Fault", "circumstances_of", "read_circumstances"]

CONFIGS: Final = (
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
CLAIMS: Final = (
    "transactional", "exactly-once", "key-order", "max.realtime-lag.ms", "liveness.deadline.ms",
)  # fmt: skip
_BESIDE: Final = ("keys", "log_start", "faults", "healthy")
_FAULT_KEYS: Final = ("kind", "key", "from_ms", "to_ms")
FAULT_KINDS: Final = ("leader-crash", "leader-move", "unclean-election", "partition")
_ISOLATION_LEVELS: Final = ("read_committed", "read_uncommitted")
_CLEANUP_POLICIES: Final = ("delete", "compact")
_OFFSET_RESETS: Final = ("earliest", "latest", "none")
_NO_END: Final = 2**63
_DELIVERY_TIMEOUT_US: Final = 120_000_000
"""Kafka's default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault that was injected; without a key it concerns every partition. Times are microseconds of the history."""

    kind: str
    key: str | None
    from_us: int
    to_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """The promises, limits and faults that a history is judged against."""

    promises: Promises
    limits: Limits = field(default_factory=Limits)
    partitions: Mapping[str, int] | None = None
    """The number of partitions of each topic; None accepts any partition."""
    delivery_timeout_us: int = _DELIVERY_TIMEOUT_US
    compacted: bool = False
    message_keys: Mapping[str, str] = field(default_factory=dict)
    """Value (as text) -> message key."""
    log_start: Mapping[str, int] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()


def read_circumstances(path: Path) -> Circumstances:
    """Read a promises file, JSON or YAML.

    Raises:
        ScenarioError: it cannot be read, or a key is wrong; the message names both.
    """
    try:
        text = path.read_text(encoding="utf-8")
        try:
            # YAML would read it too; a file with the message keys of a million values not in reasonable time.
            data = parse_json(text)
        except DuplicateKeyError as error:
            raise ScenarioError(f"{path}: {error}") from None
        except ValueError:
            data = parse_yaml(path).value
    except BrokerSimError as error:
        raise ScenarioError(str(error)) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ScenarioError(f"cannot read the promises {path}: {reason_of(error)}") from None
    return circumstances_of(data, str(path))


def circumstances_of(data: object, where: str = "promises") -> Circumstances:
    """Read promises from their mapping. `where` begins the messages.

    Raises:
        ScenarioError: a key is unknown, or its value wrong.
    """
    reader = _Reader(where)
    top = reader.mapping("promises", data)
    nested = reader.mapping("promises", top["promises"]) if "promises" in top else {}
    given = {name: value for name, value in top.items() if name != "promises"}
    given.update(nested)
    known = ("topics", *CONFIGS, *CLAIMS, *_BESIDE)
    for name in given:
        if name not in known:
            hint = nearest(str(name), known) or f"; there are {', '.join(known)}"
            raise ScenarioError(f"{where}: {name!r} is no promise{hint}")
    return reader.circumstances(given)


class _Reader:
    """Reads values and names the key of a wrong one."""

    def __init__(self, where: str) -> None:
        self._where = where

    def circumstances(self, given: Mapping[str, Any]) -> Circumstances:
        partitions = None
        if "topics" in given:
            topics = self.mapping("topics", given["topics"])
            partitions = {str(topic): self.number("topics", count, at_least=1) for topic, count in topics.items()}
        faults = tuple(
            self.fault(f"faults[{place}]", each) for place, each in enumerate(self.list("faults", given.get("faults")))
        )
        healthy = [self.key("healthy", key) for key in self.list("healthy", given.get("healthy"))]
        log_start = self.mapping("log_start", given.get("log_start", {}))
        keys = self.mapping("keys", given.get("keys", {}))
        self.choice("auto.offset.reset", given, _OFFSET_RESETS, "latest")
        self.flag("enable.auto.commit", given)
        self.flag("transactional", given)
        policies = str(given.get("cleanup.policy", "delete")).replace(" ", "").split(",")
        for policy in policies:
            if policy not in _CLEANUP_POLICIES:
                raise self.wrong("cleanup.policy", given["cleanup.policy"], " or ".join(_CLEANUP_POLICIES))
        return Circumstances(
            promises=self.promises(given),
            limits=Limits(
                transaction_timeout_us=self.duration("transaction.timeout.ms", given) or 60_000_000,
                liveness_deadline_us=self.duration("liveness.deadline.ms", given),
                realtime_lag_us=self.duration("max.realtime-lag.ms", given),
                last_fault_us=max((fault.to_us for fault in faults if fault.to_us != _NO_END), default=None),
                healthy=healthy if "healthy" in given else None,
            ),
            partitions=partitions,
            delivery_timeout_us=_or(self.duration("delivery.timeout.ms", given), _DELIVERY_TIMEOUT_US),
            compacted="compact" in policies,
            message_keys={str(value): str(name) for value, name in keys.items() if name is not None},
            log_start={
                self.key("log_start", key): self.number("log_start", to, at_least=0) for key, to in log_start.items()
            },
            faults=faults,
        )

    def promises(self, given: Mapping[str, Any]) -> Promises:
        configs = {name: self.text(name, given[name]) for name in CONFIGS if name in given}
        try:
            resolved = Promises.from_configs(
                configs,
                configs,
                replication_factor=self.number("replication.factor", given.get("replication.factor", 1), at_least=1),
                read_committed=self.choice("isolation.level", given, _ISOLATION_LEVELS, "read_uncommitted")
                == "read_committed",
                exactly_once=self.flag("exactly-once", given),
                key_order=self.flag("key-order", given),
                appends_are_known=False,
            )
        except ScenarioError as error:
            # Those of this reader have the place already.
            text = str(error)
            raise ScenarioError(text if text.startswith(self._where) else f"{self._where}: {text}") from None
        return resolved

    def fault(self, place: str, data: object) -> Fault:
        fields = self.mapping(place, data)
        for name in fields:
            if name not in _FAULT_KEYS:
                hint = nearest(str(name), _FAULT_KEYS)
                raise ScenarioError(f"{self._where}: '{place}.{name}': expected {', '.join(_FAULT_KEYS)}{hint}")
        given = {f"{place}.{name}": value for name, value in fields.items()}
        kind = self.choice(f"{place}.kind", given, FAULT_KINDS, "")
        key = fields.get("key")
        from_us = self.duration(f"{place}.from_ms", given) or 0
        to_us = self.duration(f"{place}.to_ms", given)
        if to_us is not None and to_us < from_us:
            raise self.wrong(f"{place}.to_ms", fields["to_ms"], f"no time before from_ms={fields['from_ms']}")
        return Fault(
            kind=kind,
            key=None if key is None else self.key(f"{place}.key", key),
            from_us=from_us,
            to_us=_NO_END if to_us is None else to_us,
        )

    def mapping(self, name: str, data: object) -> dict[Any, Any]:
        if not isinstance(data, dict):
            raise self.wrong(name, data, "a mapping")
        return data

    def list(self, name: str, data: object) -> list[Any]:
        if data is None:
            return []
        if not isinstance(data, list):
            raise self.wrong(name, data, "a list")
        return data

    def key(self, name: str, data: object) -> str:
        try:
            split_key(str(data))
        except ValueError as error:
            raise ScenarioError(f"{self._where}: {name!r}: {error}") from None
        return str(data)

    def number(self, name: str, data: object, *, at_least: int) -> int:
        if isinstance(data, str) and data.isascii() and data.isdigit() and len(data) < 20:
            data = int(data)
        if type(data) is not int or data < at_least:
            raise self.wrong(name, data, f"a whole number from {at_least}")
        return data

    def duration(self, name: str, given: Mapping[str, Any]) -> int | None:
        """Return a duration in microseconds; None if it is not given."""
        data = given.get(name)
        if data is None:
            return None
        if isinstance(data, float) and 0 <= data < _NO_END:
            return round(data * 1000)
        return self.number(name, data, at_least=0) * 1000

    def flag(self, name: str, given: Mapping[str, Any]) -> bool:
        value = given.get(name, False)
        if not isinstance(value, bool) and value not in ("true", "false"):
            raise self.wrong(name, value, "true or false")
        return value is True or value == "true"

    def choice(self, name: str, given: Mapping[str, Any], choices: tuple[str, ...], otherwise: str) -> str:
        value = given.get(name, otherwise)
        if value not in choices:
            hint = nearest(value, choices) if isinstance(value, str) else ""
            names = ", ".join(choices)
            raise ScenarioError(f"{self.wrong(name, value, f'one of {names}')}{hint}")
        return str(value)

    def text(self, name: str, data: object) -> str:
        if isinstance(data, bool):
            return str(data).lower()
        if not isinstance(data, int | float | str):
            raise self.wrong(name, data, "a number, a text, true or false")
        return str(data)

    def wrong(self, name: str, data: object, expected: str) -> ScenarioError:
        return ScenarioError(f"{self._where}: {name!r}: expected {expected}, not {json.dumps(data, default=str)}")


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value

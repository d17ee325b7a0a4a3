"""Every producer configuration under Java's name: type, default, range, and what becomes of it here.

Mirrors ProducerConfig.
A key is IMPLEMENTED, MAPPED to something of Python's, or REFUSED with the reason. A refused key may be given its
default, which
is what this producer does anyway. Keyword arguments take underscores for dots: `linger_ms=5`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Final, cast

from twisted.logger import Logger

from broker_client.bootstrap import parse_bootstrap_servers
from broker_client.config_keys import KEYS, ConfigKey, KeyStatus, ValueType
from broker_client.core.network_client import NetworkClientConfig
from broker_client.core.partitioners import Partitioner, RoundRobinPartitioner
from broker_client.core.producer_batch import Compression
from broker_client.core.record_accumulator import AccumulatorConfig
from broker_client.core.sender import SenderConfig
from broker_client.errors import ConfigError
from protocol_specs.records.compression import CompressionCodec

__all__ = ["ProducerConfig", "Serializer"]

Serializer = Callable[[object], bytes | None]

MAX_IN_FLIGHT_FOR_IDEMPOTENCE: Final = 5
_TRUE_AND_FALSE: Final = {"true": True, "false": False}
_JAVA_SERIALIZERS: Final[Mapping[str, Serializer]] = {
    "StringSerializer": lambda value: None if value is None else cast("str", value).encode(),
    "ByteArraySerializer": lambda value: cast("bytes | None", value),
}
_log = Logger()


class ProducerConfig(Mapping[str, object]):
    """Parsed, validated values by their dotted names; raises ConfigError for what cannot be."""

    def __init__(self, config: Mapping[str, object] | None = None, **options: object) -> None:
        given: dict[str, object] = {}
        for name, value in [*(config or {}).items(), *options.items()]:
            dotted = _known_name(name)
            if dotted in given:
                raise ConfigError(f"{dotted} is given twice")
            given[dotted] = value
        self._given = frozenset(given)
        self._values: dict[str, object] = {}
        for key in KEYS.values():
            if key.name in given:
                self._values[key.name] = _parse(key, given[key.name])
            elif key.required:
                raise ConfigError(f"missing required configuration {key.name}, which has no default value")
            else:
                self._values[key.name] = key.default
        self._validate()

    def __getitem__(self, name: str) -> object:
        try:
            return self._values[name]
        except KeyError:
            raise ConfigError(_unknown(name)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @staticmethod
    def docs() -> str:
        """The table of all keys: name, type, default, and whether it is implemented, mapped or refused."""
        lines = [f"{'name':<48} {'type':<9} {'default':<22} here"]
        for key in KEYS.values():
            default = "(required)" if key.required else str(key.default)
            note = key.status.value if not key.note else f"{key.status.value}: {key.note}"
            lines.append(f"{key.name:<48} {key.type.value:<9} {default:<22} {note}")
        return "\n".join(lines)

    # What the parts need

    def number(self, name: str) -> int:
        """An int or long."""
        return cast("int", self[name])

    def text(self, name: str) -> str:
        """A string."""
        return cast("str", self[name])

    def flag(self, name: str) -> bool:
        """A boolean."""
        return cast("bool", self[name])

    @property
    def bootstrap_servers(self) -> tuple[tuple[str, int], ...]:
        """bootstrap.servers as host and port."""
        return cast("tuple[tuple[str, int], ...]", self._values["bootstrap.servers"])

    @property
    def client_id(self) -> str:
        """client.id; `producer-1` when none is given."""
        return self.text("client.id") or "producer-1"

    @property
    def acks(self) -> int:
        """-1, 0 or 1."""
        return _acks(self.text("acks"))

    @property
    def idempotent(self) -> bool:
        """Whether sends carry a producer id and sequence."""
        return cast("bool", self._values["enable.idempotence"])

    @property
    def linger_ms(self) -> int:
        """linger.ms."""
        return self.number("linger.ms")

    @property
    def delivery_timeout_ms(self) -> int:
        """delivery.timeout.ms, or what replaces its default when linger and request time-out are longer."""
        return self.number("delivery.timeout.ms")

    @property
    def key_serializer(self) -> Serializer | None:
        """key.serializer, None when keys are bytes already."""
        return cast("Serializer | None", self._values["key.serializer"])

    @property
    def value_serializer(self) -> Serializer | None:
        """value.serializer, None when values are bytes already."""
        return cast("Serializer | None", self._values["value.serializer"])

    @property
    def partitioner(self) -> Partitioner | None:
        """partitioner.class, None for the built-in one."""
        return cast("Partitioner | None", self._values["partitioner.class"])

    def accumulator_config(self) -> AccumulatorConfig:
        """What the accumulator obeys."""
        codec = CompressionCodec.for_name(self.text("compression.type"))
        level_key = f"compression.{codec.type_name}.level"
        level = self.number(level_key) if level_key in self._given else None
        return AccumulatorConfig(
            batch_size=max(1, self.number("batch.size")),
            linger_ms=self.linger_ms,
            delivery_timeout_ms=self.delivery_timeout_ms,
            compression=Compression(codec=codec, level=level),
            adaptive_partitioning=self.partitioner is None and self.flag("partitioner.adaptive.partitioning.enable"),
            availability_timeout_ms=self.number("partitioner.availability.timeout.ms"),
        )

    def sender_config(self) -> SenderConfig:
        """What the Sender obeys."""
        return SenderConfig(
            acks=self.acks,
            retries=self.number("retries"),
            max_request_size=self.number("max.request.size"),
            request_timeout_ms=self.number("request.timeout.ms"),
            delivery_timeout_ms=self.delivery_timeout_ms,
            retry_backoff_ms=self.number("retry.backoff.ms"),
            guarantee_message_order=self.number("max.in.flight.requests.per.connection") == 1,
        )

    def network_config(self) -> NetworkClientConfig:
        """What connections obey."""
        return NetworkClientConfig(
            client_id=self.client_id,
            request_timeout_ms=self.number("request.timeout.ms"),
            max_in_flight_requests_per_connection=self.number("max.in.flight.requests.per.connection"),
            connections_max_idle_ms=self.number("connections.max.idle.ms"),
            reconnect_backoff_ms=self.number("reconnect.backoff.ms"),
            reconnect_backoff_max_ms=self.number("reconnect.backoff.max.ms"),
            socket_connection_setup_timeout_ms=self.number("socket.connection.setup.timeout.ms"),
            socket_connection_setup_timeout_max_ms=self.number("socket.connection.setup.timeout.max.ms"),
            send_buffer_bytes=self.number("send.buffer.bytes"),
            receive_buffer_bytes=self.number("receive.buffer.bytes"),
            rebootstrap=self.text("metadata.recovery.strategy").lower() == "rebootstrap",
            rebootstrap_trigger_ms=self.number("metadata.recovery.rebootstrap.trigger.ms"),
        )

    # What Java checks across keys

    def _validate(self) -> None:
        self._validate_idempotence()
        self._validate_delivery_timeout()
        backoff_max = "reconnect.backoff.max.ms"
        if "reconnect.backoff.ms" in self._given and backoff_max not in self._given:
            self._values[backoff_max] = max(self.number("reconnect.backoff.ms"), self.number(backoff_max))

    def _validate_idempotence(self) -> None:
        explicit = "enable.idempotence" in self._given
        if not self.flag("enable.idempotence"):
            return
        if self.number("max.in.flight.requests.per.connection") > MAX_IN_FLIGHT_FOR_IDEMPOTENCE:
            raise ConfigError(
                f"max.in.flight.requests.per.connection={self.number('max.in.flight.requests.per.connection')}: "
                f"the idempotent producer takes at most {MAX_IN_FLIGHT_FOR_IDEMPOTENCE}; "
                "set it so, or enable.idempotence=false"
            )
        conflicts = []
        if self.number("retries") == 0:
            conflicts.append("retries=0: the idempotent producer needs retries to be non-zero")
        if self.acks != -1:
            conflicts.append(f"acks={self.acks}: the idempotent producer needs acks=all")
        if not conflicts:
            return
        if explicit:
            raise ConfigError(f"{conflicts[0]}; change it, or set enable.idempotence=false")
        _log.info("idempotence is disabled, because {conflict}", conflict=conflicts[0])
        self._values["enable.idempotence"] = False

    def _validate_delivery_timeout(self) -> None:
        delivery_ms = self.delivery_timeout_ms
        needed_ms = min(self.linger_ms, 2**31 - 1) + self.number("request.timeout.ms")
        if delivery_ms >= needed_ms:
            return
        if "delivery.timeout.ms" in self._given:
            raise ConfigError(
                f"delivery.timeout.ms={delivery_ms} should be equal to or larger than "
                f"linger.ms + request.timeout.ms, {needed_ms}"
            )
        _log.warn("delivery.timeout.ms is set to {needed}, linger.ms + request.timeout.ms", needed=needed_ms)
        self._values["delivery.timeout.ms"] = needed_ms


def _known_name(name: str) -> str:
    dotted = name.replace("_", ".")
    if dotted not in KEYS:
        raise ConfigError(_unknown(name))
    return dotted


def _unknown(name: str) -> str:
    nearest = get_close_matches(name.replace("_", "."), KEYS, n=1)
    hint = f"; did you mean {nearest[0]}?" if nearest else ""
    return f"unknown configuration {name!r}{hint}"


def _parse(key: ConfigKey, value: object) -> object:
    parsed = _typed(key, value)
    if key.status is KeyStatus.REFUSED and parsed != key.default:
        raise ConfigError(f"{key.name}={value!r} is refused: {key.note}")
    if parsed is None:
        return None
    if key.one_of and str(parsed).lower() not in key.one_of:
        raise ConfigError(f"{key.name}={value!r}: expected one of {', '.join(key.one_of)}")
    if key.minimum is not None and isinstance(parsed, (int, float)) and parsed not in key.also:
        low, high = key.minimum, key.maximum
        if parsed < low or (high is not None and parsed > high):
            expected = f"at least {low}" if high is None else f"between {low} and {high}"
            raise ConfigError(f"{key.name}={value!r}: expected {expected}")
    return parsed


def _typed(key: ConfigKey, value: object) -> object:
    if value is None:
        if key.default is None and not key.required:
            return None
        raise ConfigError(f"{key.name}=None: expected {key.type.value}")
    special = _SPECIAL.get(key.name)
    if special is not None:
        return special(value)
    try:
        return _CONVERSIONS[key.type](value)
    except (TypeError, ValueError, KeyError):
        raise ConfigError(f"{key.name}={value!r}: expected {key.type.value}") from None


def _whole_number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TypeError(value)
    return int(value)


def _real_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(value)
    return float(value)


def _boolean(value: object) -> bool:
    return value if isinstance(value, bool) else _TRUE_AND_FALSE[str(value).strip().lower()]


def _string(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise TypeError(value)
    return str(value).strip()


def _list(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, (list, tuple)):
        return tuple(str(part) for part in value)
    raise TypeError(value)


_CONVERSIONS: Final[Mapping[ValueType, Callable[[object], object]]] = {
    ValueType.INT: _whole_number,
    ValueType.LONG: _whole_number,
    ValueType.SHORT: _whole_number,
    ValueType.DOUBLE: _real_number,
    ValueType.BOOLEAN: _boolean,
    ValueType.STRING: _string,
    ValueType.PASSWORD: _string,
    ValueType.CLASS: lambda value: value,
    ValueType.LIST: _list,
}


def _acks(value: str) -> int:
    return -1 if value.lower() == "all" else int(value)


def _serializer_of(name: str) -> Callable[[object], Serializer]:
    def parse(value: object) -> Serializer:
        if isinstance(value, str):
            known = _JAVA_SERIALIZERS.get(value.rsplit(".", 1)[-1])
            if known is not None:
                return known
        elif callable(value):
            return cast("Serializer", value)
        raise ConfigError(f"{name}={value!r}: expected a callable that answers bytes or None")

    return parse


def _partitioner(value: object) -> Partitioner:
    if isinstance(value, str) and value.rsplit(".", 1)[-1] == "RoundRobinPartitioner":
        return RoundRobinPartitioner()
    if callable(getattr(value, "partition", None)) and not isinstance(value, str):
        return cast("Partitioner", value)
    raise ConfigError(
        f"partitioner.class={value!r}: expected RoundRobinPartitioner, "
        "or an object with partition(topic, key, value, cluster)"
    )


_SPECIAL: Final[Mapping[str, Callable[[object], object]]] = {
    "bootstrap.servers": parse_bootstrap_servers,
    "key.serializer": _serializer_of("key.serializer"),
    "value.serializer": _serializer_of("value.serializer"),
    "partitioner.class": _partitioner,
}

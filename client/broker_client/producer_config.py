"""Every producer configuration under Java's name, parsed and checked as Java does it.

Mirrors ProducerConfig. Keyword arguments have underscores for dots: `linger_ms=5`. A key is IMPLEMENTED, MAPPED to a
Python object, or REFUSED with the reason. A refused key may be given its default, as this producer behaves that way.
An unknown key is refused too, where Java only logs it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from broker_client.bootstrap import canonical_servers, parse_bootstrap_servers
from broker_client.config.class_values import partitioner_of
from broker_client.config.cross_checks import INT_MAX, delivery_timeout_ms, post_process
from broker_client.config.docs_table import as_markdown, as_text
from broker_client.config.given_values import parsed_values, refuse_given, unknown_key
from broker_client.config.older_keys import SCALA_KEYS
from broker_client.config.serializers import Serializer, serializer_of
from broker_client.config_keys import KEYS
from broker_client.core.batching.producer_batch import Compression
from broker_client.core.batching.record_accumulator import AccumulatorConfig
from broker_client.core.network.network_client import NetworkClientConfig
from broker_client.core.producer.sender import SenderConfig
from broker_client.errors import ConfigError
from broker_client.interceptors import ProducerInterceptors
from broker_client.security_config import channel_builder, check_login
from protocol_specs.errors import CompressionUnavailable
from protocol_specs.records.compression import CompressionCodec, compress

if TYPE_CHECKING:
    from broker_client.core.batching.partitioners import Partitioner

__all__ = ["ProducerConfig", "Serializer"]


class ProducerConfig(Mapping[str, object]):
    """Parsed and validated values by their dotted names.

    Raises:
        ConfigError: a key is unknown, given twice or not served, or a value is not valid.
    """

    def __init__(self, config: Mapping[str, object] | None = None, **options: object) -> None:
        pairs = [*(config or {}).items(), *options.items()]
        given, values = parsed_values(KEYS, pairs, replaced=SCALA_KEYS)
        self._given = frozenset(given)
        self._values = values
        post_process(self._values, self._given)
        refuse_given(KEYS, given, self._values)
        self._check_codec()
        # From here on, the order is that of KafkaProducer's constructor.
        values = self._values
        values["partitioner.class"] = partitioner_of(values["partitioner.class"], given)
        for name in ("key.serializer", "value.serializer"):
            values[name] = serializer_of(name, values[name])
        self.interceptors = ProducerInterceptors.of(values["interceptor.classes"], given)
        self._delivery_timeout_ms = delivery_timeout_ms(values, self._given)
        self._bootstrap_servers = parse_bootstrap_servers(values["bootstrap.servers"])
        check_login(values.get)

    def __getitem__(self, name: str) -> object:
        try:
            return self._values[name]
        except KeyError:
            raise unknown_key(KEYS, name, replaced=SCALA_KEYS) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @staticmethod
    def docs() -> str:
        """Print the table of all keys and return it: name, type, default, status, meaning."""
        text = as_text(KEYS.values())
        sys.stdout.write(text)
        return text

    @staticmethod
    def docs_page() -> str:
        """Return the table as a page in Markdown, docs/reference/producer-configs.md."""
        return as_markdown(KEYS.values(), SCALA_KEYS)

    # Values by type

    def number(self, name: str) -> int:
        """Return the value of a key of type int or long."""
        return cast("int", self[name])

    def text(self, name: str) -> str:
        """Return the value of a key of type string."""
        return cast("str", self[name])

    def flag(self, name: str) -> bool:
        """Return the value of a key of type boolean."""
        return cast("bool", self[name])

    @property
    def bootstrap_servers(self) -> tuple[tuple[str, int], ...]:
        """bootstrap.servers as host and port."""
        return self._bootstrap_servers

    def resolve_canonical_names(self) -> None:
        """Resolve bootstrap.servers as client.dns.lookup requires; it waits for DNS, so call it once per producer."""
        if self.text("client.dns.lookup") == "resolve_canonical_bootstrap_servers_only":
            self._bootstrap_servers = canonical_servers(self._bootstrap_servers)

    @property
    def client_id(self) -> str:
        """client.id; by default `producer-` and the transactional.id or a number."""
        return self.text("client.id")

    @property
    def acks(self) -> int:
        """acks: -1, 0 or 1."""
        return int(self.text("acks"))

    @property
    def idempotent(self) -> bool:
        """True if batches carry a producer id and sequence numbers."""
        return cast("bool", self._values["enable.idempotence"])

    @property
    def linger_ms(self) -> int:
        """linger.ms; about 25 days at most."""
        return min(self.number("linger.ms"), INT_MAX)

    @property
    def delivery_timeout_ms(self) -> int:
        """delivery.timeout.ms, or linger.ms + request.timeout.ms if those are longer than its default."""
        return self._delivery_timeout_ms

    @property
    def key_serializer(self) -> Serializer | None:
        """key.serializer, None if keys are bytes."""
        return cast("Serializer | None", self._values["key.serializer"])

    @property
    def value_serializer(self) -> Serializer | None:
        """value.serializer, None if values are bytes."""
        return cast("Serializer | None", self._values["value.serializer"])

    @property
    def partitioner(self) -> Partitioner | None:
        """partitioner.class, None for the built-in one."""
        return cast("Partitioner | None", self._values["partitioner.class"])

    def accumulator_config(self) -> AccumulatorConfig:
        """Return the configuration of the RecordAccumulator."""
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
        """Return the configuration of the Sender."""
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
        """Return the configuration of the NetworkClient."""
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
            channel_builder=channel_builder(self._values.get),
        )

    def _check_codec(self) -> None:
        """Refuse a codec whose package is not installed here, rather than at the first batch."""
        name = self.text("compression.type")
        try:
            compress(CompressionCodec.for_name(name), b"")
        except CompressionUnavailable as missing:
            raise ConfigError(f"compression.type={name!r}: {missing}") from None

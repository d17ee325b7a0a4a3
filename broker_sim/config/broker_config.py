"""The configuration of one broker: every name of its release, typed and checked. Mirrors KafkaConfig."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Self

from broker_sim.config.definitions import ConfigValue, broker_definitions
from broker_sim.config.release_behaviour import DEFAULT_RELEASE, ReleaseBehaviour, behaviour_of
from broker_sim.config.values import parse_value
from broker_sim.errors import ConfigError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOT_ATTRIBUTES: Final = {"behaviour", "overrides", "values"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """Broker configurations by name (`config["num.io.threads"]`), the ones used most as attributes too."""

    behaviour: ReleaseBehaviour
    overrides: Mapping[str, str]
    """What was given, as text; everything else is the release's default."""
    values: Mapping[str, ConfigValue]

    auto_create_topics_enable: bool
    auto_leader_rebalance_enable: bool
    broker_heartbeat_interval_ms: int
    broker_rack: str | None
    broker_session_timeout_ms: int
    connections_max_idle_ms: int
    controlled_shutdown_enable: bool
    default_replication_factor: int
    delete_topic_enable: bool
    fetch_max_bytes: int
    log_index_interval_bytes: int
    max_connections: int
    max_connections_per_ip: int
    max_incremental_fetch_session_cache_slots: int
    message_max_bytes: int
    min_insync_replicas: int
    num_io_threads: int
    num_network_threads: int
    num_partitions: int
    num_replica_fetchers: int
    offsets_topic_compression_codec: int
    offsets_topic_num_partitions: int
    offsets_topic_replication_factor: int
    offsets_topic_segment_bytes: int
    producer_id_expiration_ms: int
    queued_max_requests: int
    queued_max_request_bytes: int
    replica_fetch_backoff_ms: int
    replica_fetch_max_bytes: int
    replica_fetch_min_bytes: int
    replica_fetch_response_max_bytes: int
    replica_fetch_wait_max_ms: int
    replica_lag_time_max_ms: int
    request_timeout_ms: int
    socket_listen_backlog_size: int
    socket_request_max_bytes: int
    transaction_max_timeout_ms: int
    transaction_state_log_min_isr: int
    transaction_state_log_num_partitions: int
    transaction_state_log_replication_factor: int
    transaction_state_log_segment_bytes: int
    unclean_leader_election_enable: bool

    @classmethod
    def parse(cls, overrides: Mapping[str, str], *, release: str = DEFAULT_RELEASE) -> Self:
        """Check every override; ConfigError names an unknown option and its nearest, or the bad value."""
        behaviour = behaviour_of(release)
        definitions = broker_definitions(behaviour.release)
        values = dict(_defaults(behaviour.release))
        for name, text in overrides.items():
            definition = definitions.get(name)
            if definition is None:
                msg = f"unknown broker configuration {name!r} for release {behaviour.release}"
                raise ConfigError(msg + nearest(name, definitions))
            values[name] = parse_value(definition, text)
        named = {name: values[name.replace("_", ".")] for name in _ATTRIBUTES}
        return cls(behaviour=behaviour, overrides=dict(overrides), values=values, **named)  # type: ignore[arg-type]

    def __getitem__(self, name: str) -> ConfigValue:
        """The typed value of a configuration that the release knows."""
        try:
            return self.values[name]
        except KeyError:
            msg = f"unknown broker configuration {name!r} for release {self.behaviour.release}"
            raise ConfigError(msg + nearest(name, self.values)) from None

    @property
    def release(self) -> str:
        """The full name of the emulated release."""
        return self.behaviour.release


def _defaults(release: str) -> dict[str, ConfigValue]:
    return {name: definition.default for name, definition in broker_definitions(release).items()}


_ATTRIBUTES: Final = tuple(field.name for field in fields(BrokerConfig) if field.name not in _NOT_ATTRIBUTES)

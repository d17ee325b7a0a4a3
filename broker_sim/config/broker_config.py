"""The configuration of one broker: every name of its release, typed and checked. Mirrors KafkaConfig."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Final, Self

from twisted.logger import Logger

from broker_sim.config.config_names import base_name, replaced_by
from broker_sim.config.cross_field_validation import check_at_start
from broker_sim.config.definitions import ConfigValue, broker_definitions, oldest_definition
from broker_sim.config.metadata_mode import in_mode, table_of
from broker_sim.config.release_behaviour import DEFAULT_RELEASE, ReleaseBehaviour, behaviour_of
from broker_sim.config.simulator_configs import AUTHORIZER_DEFINITIONS, SIMULATOR_DEFINITIONS
from broker_sim.config.values import parse_value
from broker_sim.errors import ConfigError, nearest, raise_together
from broker_sim.part_types import AS_BUILT, PartTypes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.releases import Release

_log = Logger()
_UNDEFINED_BY_KAFKA: Final = {**SIMULATOR_DEFINITIONS, **AUTHORIZER_DEFINITIONS}
_MESSAGE_FORMATS: Final = ("log.message.format.version", "message.format.version")
_NOT_ATTRIBUTES: Final = {
    "behaviour",
    "dynamic_defaults",
    "dynamic_own",
    "overrides",
    "part_types",
    "static",
    "values",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """Broker configurations by name (`config["num.io.threads"]`), the ones used most as attributes too."""

    behaviour: ReleaseBehaviour
    part_types: PartTypes = AS_BUILT
    """The classes of the broker's parts, which defects replace."""
    overrides: Mapping[str, str]
    """The configurations that are set, as text, from all sources; all others have the release's default."""
    values: Mapping[str, ConfigValue]
    static: Mapping[str, str]
    """The configurations of the broker's file."""
    dynamic_defaults: Mapping[str, str]
    """The dynamic configurations of all brokers, also those that the release does not know (KIP-226)."""
    dynamic_own: Mapping[str, str]
    """The dynamic configurations of this broker."""

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
    max_connections: int
    max_connections_per_ip: int
    max_incremental_fetch_session_cache_slots: int
    min_insync_replicas: int
    num_io_threads: int
    num_network_threads: int
    num_partitions: int
    offsets_topic_num_partitions: int
    offsets_topic_segment_bytes: int
    producer_id_expiration_ms: int
    queued_max_requests: int
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
    transaction_state_log_segment_bytes: int
    unclean_leader_election_enable: bool

    @classmethod
    def parse(cls, overrides: Mapping[str, str], *, release: str = DEFAULT_RELEASE) -> Self:
        """Parse and validate every override, and all together.

        Raises:
            ConfigError: Options are unknown (the text has the nearest one) or invalid, with a line for each; or valid
                ones contradict each other.
        """
        behaviour = in_mode(behaviour_of(release), overrides)
        definitions = broker_definitions(behaviour.release)
        values = dict(_defaults(behaviour.release))
        mistakes: list[ConfigError] = []
        for name, text in overrides.items():
            definition = definitions.get(_without_listener(name)) or _UNDEFINED_BY_KAFKA.get(name)
            if definition is None:
                msg = f"unknown broker configuration {name!r} for release {behaviour.release}"
                mistakes.append(ConfigError(msg + nearest(name, [*definitions, *_UNDEFINED_BY_KAFKA])))
                continue
            try:
                values[name] = parse_value(definition, text)
            except ConfigError as error:
                mistakes.append(error)
        raise_together(mistakes)
        named = _named(values)
        given = dict(overrides)
        config = cls(
            behaviour=behaviour,
            overrides=given,
            values=values,
            static=given,
            dynamic_defaults={},
            dynamic_own={},
            **named,  # type: ignore[arg-type]
        )
        check_at_start(config)
        for warning in config.warnings:
            _log.warn("{warning}", warning=warning)
        return config

    def with_dynamic(self, defaults: Mapping[str, str], own: Mapping[str, str]) -> Self:
        """The same broker with these dynamic configurations alone: its own go before everybody's, both before the file.

        ConfigValueError for a value that cannot be. Mirrors DynamicBrokerConfig.updateCurrentConfig.
        """
        definitions = broker_definitions(self.release)
        overrides = dict(self.static)
        for dynamic in (defaults, own):
            for name, text in dynamic.items():
                if base_name(name) in definitions:
                    for synonym in replaced_by(name):
                        overrides.pop(synonym, None)
                    overrides[name] = text
        values = dict(_defaults(self.release))
        for name, text in overrides.items():
            values[name] = parse_value(definitions.get(base_name(name)) or _UNDEFINED_BY_KAFKA[name], text)
        named = _named(values)
        return replace(
            self,
            overrides=overrides,
            values=values,
            dynamic_defaults=dict(defaults),
            dynamic_own=dict(own),
            **named,  # type: ignore[arg-type]
        )

    def with_texts(self, defaults: Mapping[str, str], own: Mapping[str, str]) -> Self:
        """Return the same broker with these dynamic configurations as texts without effect: any text is valid."""
        return replace(self, dynamic_defaults=dict(defaults), dynamic_own=dict(own))

    def __getitem__(self, name: str) -> ConfigValue:
        """Return the typed value of a configuration; for a name of other releases alone, this one's fixed behaviour."""
        try:
            return self.values[name]
        except KeyError:
            if oldest_definition("broker", name) is not None:
                return _without_name(name)
            msg = f"unknown broker configuration {name!r} for release {self.behaviour.release}"
            raise ConfigError(msg + nearest(name, self.values)) from None

    def for_listener(self, name: str, listener: str) -> ConfigValue:
        """A limit as a listener has it: its own (`listener.name.<listener>.<name>`) or the broker's."""
        own = f"{_LISTENER_PREFIX}{listener.lower()}.{name}"
        return self.values[own] if own in self.values else self[name]

    @property
    def without_effect(self) -> list[str]:
        """The names that were given, are known and shown, but that nothing in this simulator acts on."""
        return [name for name in self.overrides if not acts_on(_without_listener(name), self.behaviour)]

    @property
    def warnings(self) -> list[str]:
        """Why brokers with these configurations may not behave as expected, although Kafka accepts them."""
        found = []
        if self.without_effect:
            found.append(f"These configurations have no effect in the simulator: {', '.join(self.without_effect)}")
        heartbeat_ms, session_ms = self.values.get("broker.heartbeat.interval.ms"), self.broker_session_timeout_ms
        if isinstance(heartbeat_ms, int) and heartbeat_ms >= session_ms:
            found.append(
                f"broker.heartbeat.interval.ms={heartbeat_ms} is not below broker.session.timeout.ms={session_ms}: the "
                "controller fences brokers that run, between one heartbeat and the next"
            )
        return found

    @property
    def release(self) -> str:
        """The full name of the emulated release."""
        return self.behaviour.release

    @property
    def release_table(self) -> Release:
        """The APIs and features of the release in the mode that it runs in."""
        return table_of(self.behaviour)


def _without_listener(name: str) -> str:
    """Return the name without the prefix of a listener; any other name unchanged."""
    if name.startswith(_LISTENER_PREFIX):
        _, _, rest = name.removeprefix(_LISTENER_PREFIX).partition(".")
        if rest in _PER_LISTENER or rest.startswith("ssl."):
            return rest
        base = base_name(name)
        if base in _PER_SASL_LISTENER and (rest == base or rest.removesuffix(f".{base}").upper() in _SASL_MECHANISMS):
            return base
    return name


def acts_on(name: str, behaviour: ReleaseBehaviour | None = None) -> bool:
    """Return True if the simulator reads this configuration: in a release, or (None) in any."""
    return name in _ACTED_ON and (behaviour is None or counts(name, behaviour))


def counts(name: str, behaviour: ReleaseBehaviour) -> bool:
    """Return True if a release of Kafka still uses a configuration that it defines (KIP-724)."""
    return behaviour.message_format_version_counts or name not in _MESSAGE_FORMATS


def _named(values: Mapping[str, ConfigValue]) -> dict[str, ConfigValue]:
    """The attributes' values."""
    return {
        attribute: values[name] if name in values else _without_name(name) for attribute, name in _ATTRIBUTES.items()
    }


def _without_name(name: str) -> ConfigValue:
    """Return the behaviour of a release without this configuration: mostly its first default in a later release."""
    if name in _BEFORE_THERE_WAS_A_NAME:
        return _BEFORE_THERE_WAS_A_NAME[name]
    definition = oldest_definition("broker", name)
    assert definition is not None, f"no release has {name}"
    return definition.default


@cache
def _defaults(release: str) -> Mapping[str, ConfigValue]:
    defaults = {name: definition.default for name, definition in broker_definitions(release).items()}
    return defaults | {name: definition.default for name, definition in _UNDEFINED_BY_KAFKA.items()}


_LISTENER_PREFIX: Final = "listener.name."
_PER_LISTENER: Final = ("max.connections", "max.connection.creation.rate", "num.network.threads")
"""The configurations of single listeners. Mirrors ListenerReconfigurableConfigs of SocketServer, DataPlaneAcceptor."""
_PER_SASL_LISTENER: Final = (
    "connections.max.reauth.ms",
    "sasl.enabled.mechanisms",
    "sasl.jaas.config",
    "sasl.server.callback.handler.class",
    "sasl.server.max.receive.size",
)
"""The configurations of SASL of single listeners; some also of a mechanism of theirs. Mirrors SaslChannelBuilder."""
_SASL_MECHANISMS: Final = ("GSSAPI", "OAUTHBEARER", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

_BEFORE_THERE_WAS_A_NAME: Final[Mapping[str, ConfigValue]] = {
    "connections.max.idle.ms": -1,  # without effect (KAFKA-1282)
    "connection.failed.authentication.delay.ms": 0,
    "fetch.max.bytes": 2**31 - 1,  # the client's limit applied (KIP-541)
    "log.retention.check.interval.ms": 600_000,  # it had another name, and was in minutes
    "replica.fetch.response.max.bytes": 2**31 - 1,  # each partition had its own limit alone (KIP-74)
}

_ATTRIBUTES: Final = {
    field.name: field.name.replace("_", ".") for field in fields(BrokerConfig) if field.name not in _NOT_ATTRIBUTES
}
"""The configuration of each attribute."""

_GROUP_LIMITS: Final = {
    *(
        f"group.{kind}.{limit}.{key}"
        for kind in ("consumer", "share", "streams")
        for limit in ("min", "max")
        for key in ("assignment.interval.ms", "heartbeat.interval.ms", "session.timeout.ms")
    ),
    *(
        f"group.share.{limit}.{key}"
        for limit in ("min", "max")
        for key in ("delivery.count.limit", "partition.max.record.locks", "record.lock.duration.ms")
    ),
    "group.streams.max.standby.replicas",
}
"""What the configurations of a group and their defaults are checked against."""

# Read by name, or through the topic configurations that they give their defaults.
_ACTED_ON: Final = frozenset([*_ATTRIBUTES.values(), *_UNDEFINED_BY_KAFKA, *_GROUP_LIMITS]) | {
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "leader.imbalance.check.interval.seconds",
    "log.cleaner.backoff.ms",
    "log.cleaner.delete.retention.ms",
    "log.cleaner.enable",
    "log.cleaner.max.compaction.lag.ms",
    "log.cleaner.min.cleanable.ratio",
    "log.cleaner.min.compaction.lag.ms",
    "log.cleanup.policy",
    "log.dir",
    "log.dir.failure.timeout.ms",
    "log.dirs",
    "log.flush.interval.messages",
    "log.flush.interval.ms",
    "log.flush.offset.checkpoint.interval.ms",
    "log.flush.scheduler.interval.ms",
    "log.flush.start.offset.checkpoint.interval.ms",
    "log.index.interval.bytes",
    "log.index.size.max.bytes",
    "log.initial.task.delay.ms",
    "log.message.downconversion.enable",
    "log.message.format.version",
    "log.message.timestamp.after.max.ms",
    "log.message.timestamp.before.max.ms",
    "log.message.timestamp.difference.max.ms",
    "log.message.timestamp.type",
    "log.retention.bytes",
    "log.retention.check.interval.ms",
    "log.retention.hours",
    "log.retention.minutes",
    "log.retention.ms",
    "log.roll.hours",
    "log.roll.jitter.hours",
    "log.roll.jitter.ms",
    "log.roll.ms",
    "log.segment.bytes",
    "log.segment.delete.delay.ms",
    "controller.quorum.append.linger.ms",
    "controller.quorum.election.backoff.max.ms",
    "controller.quorum.election.timeout.ms",
    "controller.quorum.fetch.timeout.ms",
    "controller.quorum.request.timeout.ms",
    "controller.quota.window.num",
    "cordoned.log.dirs",
    "max.request.partition.size.limit",
    "telemetry.max.bytes",
    "controller.quota.window.size.seconds",
    "max.connection.creation.rate",
    "max.connections.per.ip.overrides",
    "message.max.bytes",
    "metadata.log.max.record.bytes.between.snapshots",
    "metadata.log.max.snapshot.interval.ms",
    "metadata.max.idle.interval.ms",
    "metadata.log.dir",
    "group.consumer.assignment.interval.ms",
    "group.consumer.assignors",
    "group.consumer.heartbeat.interval.ms",
    "group.consumer.max.size",
    "group.consumer.migration.policy",
    "group.consumer.regex.refresh.interval.ms",
    "group.consumer.session.timeout.ms",
    "group.coordinator.append.linger.ms",
    "group.coordinator.new.enable",
    "group.coordinator.rebalance.protocols",
    "group.initial.rebalance.delay.ms",
    "group.max.session.timeout.ms",
    "group.max.size",
    "group.min.session.timeout.ms",
    "group.streams.assignment.interval.ms",
    "group.streams.heartbeat.interval.ms",
    "group.streams.initial.rebalance.delay.ms",
    "group.streams.max.size",
    "group.streams.num.standby.replicas",
    "group.streams.session.timeout.ms",
    "offset.metadata.max.bytes",
    "offsets.commit.timeout.ms",
    "offsets.retention.check.interval.ms",
    "offsets.retention.minutes",
    "offsets.topic.compression.codec",
    "offsets.topic.replication.factor",
    "producer.id.expiration.check.interval.ms",
    "quota.window.num",
    "replica.high.watermark.checkpoint.interval.ms",
    "quota.window.size.seconds",
    "follower.replication.throttled.rate",
    "leader.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
    "replica.selector.class",
    "replication.quota.window.num",
    "replication.quota.window.size.seconds",
    "group.share.assignment.interval.ms",
    "group.share.delivery.count.limit",
    "group.share.heartbeat.interval.ms",
    "group.share.initialize.retry.interval.ms",
    "group.share.max.share.sessions",
    "group.share.max.size",
    "group.share.partition.max.record.locks",
    "group.share.record.lock.duration.ms",
    "group.share.session.timeout.ms",
    "share.coordinator.append.linger.ms",
    "share.coordinator.cold.partition.snapshot.interval.ms",
    "share.coordinator.snapshot.update.records.per.snapshot",
    "share.coordinator.state.topic.compression.codec",
    "share.coordinator.state.topic.min.isr",
    "share.coordinator.state.topic.num.partitions",
    "share.coordinator.state.topic.replication.factor",
    "share.coordinator.state.topic.prune.interval.ms",
    "share.coordinator.state.topic.segment.bytes",
    "share.coordinator.write.timeout.ms",
    "add.partitions.to.txn.retry.backoff.max.ms",
    "add.partitions.to.txn.retry.backoff.ms",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    "transaction.partition.verification.enable",
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    "transaction.state.log.replication.factor",
    "transaction.two.phase.commit.enable",
    "transactional.id.expiration.ms",
    "unclean.leader.election.interval.ms",
    "unstable.api.versions.enable",
    "advertised.listeners",
    "authorizer.class.name",
    "connection.failed.authentication.delay.ms",
    "connections.max.reauth.ms",
    "delegation.token.expiry.check.interval.ms",
    "delegation.token.expiry.time.ms",
    "delegation.token.master.key",
    "delegation.token.max.lifetime.ms",
    "delegation.token.secret.key",
    "sasl.enabled.mechanisms",
    "sasl.jaas.config",
    "sasl.mechanism.inter.broker.protocol",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.server.callback.handler.class",
    "sasl.server.max.receive.size",
    "controller.socket.timeout.ms",
    "controlled.shutdown.max.retries",
    "controlled.shutdown.retry.backoff.ms",
    "leader.imbalance.per.broker.percentage",
    "zookeeper.connect",
    "zookeeper.session.timeout.ms",
    "control.plane.listener.name",
    "controller.listener.names",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "listeners",
    "process.roles",
    "queued.max.request.bytes",
    "security.inter.broker.protocol",
    "ssl.allow.dn.changes",
    "ssl.allow.san.changes",
    "ssl.cipher.suites",
    "ssl.client.auth",
    "ssl.enabled.protocols",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.protocol",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
}

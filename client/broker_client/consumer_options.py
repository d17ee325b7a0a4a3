"""The configurations of a consumer as options of its parts, with Java's checks between them. Mirrors ConsumerConfig."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from broker_client.client_options import client_options, parsed_options
from broker_client.config.consumer_keys import CONSUMER_KEYS, FETCH_KEYS
from broker_client.config.serializers import deserializer_of
from broker_client.consumer_errors import InvalidGroupId
from broker_client.consumer_interceptors import ConsumerInterceptors
from broker_client.core.consumer.consumer_core import ConsumerCore
from broker_client.core.consumer.deserializers import Deserializers
from broker_client.core.consumer.fetcher import FetchOptions
from broker_client.core.groups.assignors.cooperative_sticky_assignor import CooperativeStickyAssignor
from broker_client.core.groups.assignors.range_assignor import RangeAssignor
from broker_client.core.groups.assignors.round_robin_assignor import RoundRobinAssignor
from broker_client.core.groups.assignors.sticky_assignor import StickyAssignor
from broker_client.core.groups.callback_runner import run_here
from broker_client.core.groups.group_options import GroupOptions
from broker_client.core.metrics.consumer_metrics import MetricOptions
from broker_client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_client.core.groups.assignors.assignor import PartitionAssignor
    from broker_client.core.groups.callback_runner import CallbackRunner
    from broker_client.core.network.client_core import ClientCore, ClientOptions

__all__ = ["ConsumerOptions", "consumer_options", "first_client_id", "metric_options"]

_ASSIGNORS: Final[Mapping[str, type[PartitionAssignor]]] = {
    "range": RangeAssignor,
    "roundrobin": RoundRobinAssignor,
    "sticky": StickyAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
_JAVA_ASSIGNORS: Final = {
    f"org.apache.kafka.clients.consumer.{name}Assignor": assignor
    for name, assignor in (
        ("Range", RangeAssignor),
        ("RoundRobin", RoundRobinAssignor),
        ("Sticky", StickyAssignor),
        ("CooperativeSticky", CooperativeStickyAssignor),
    )
}
_CLASSIC_ONLY: Final = ("heartbeat.interval.ms", "session.timeout.ms", "partition.assignment.strategy")


@dataclass(slots=True, kw_only=True, frozen=True)
class ConsumerOptions:
    """The options of each part; `group` is None without group.id."""

    client: ClientOptions
    fetch: FetchOptions
    group: GroupOptions | None
    metrics: MetricOptions
    interceptors: ConsumerInterceptors
    deserializers: Deserializers
    allow_auto_create_topics: bool

    def make_core(self, core: ClientCore, run_callback: CallbackRunner = run_here) -> ConsumerCore:
        """Return the consumer on a client's core that was made with `by_subscription`."""
        return ConsumerCore(
            core,
            self.fetch,
            self.group,
            run_callback=run_callback,
            metrics=self.metrics,
            interceptors=self.interceptors,
            deserializers=self.deserializers,
        )


def consumer_options(options: Mapping[str, Any], fetch: FetchOptions | None = None) -> ConsumerOptions:
    """Return the options that configurations with Kafka's names describe; underscores may stand for dots.

    Raises:
        ConfigError: an option is unknown, wrong or not served, or contradicts another.
    """
    given = parsed_options(CONSUMER_KEYS, options)
    of_fetches: dict[str, Any] = {name.replace(".", "_"): given[name] for name in FETCH_KEYS if name in given}

    def value_of(name: str) -> Any:
        return given.get(name, CONSUMER_KEYS[name].default)

    group = None
    if given.get("group.id") is not None:
        group = _group_options(given, value_of("group.id"))
    elif given.get("enable.auto.commit"):
        raise ConfigError("enable.auto.commit=True: automatic commits need a group.id")
    return ConsumerOptions(
        client=client_options(given, client_id=first_client_id(group)),
        fetch=replace(fetch or FetchOptions(), **of_fetches),
        group=group,
        metrics=metric_options(value_of),
        interceptors=ConsumerInterceptors.of(value_of("interceptor.classes"), given),
        deserializers=Deserializers(
            key=deserializer_of("key.deserializer", value_of("key.deserializer")),
            value=deserializer_of("value.deserializer", value_of("value.deserializer")),
        ),
        allow_auto_create_topics=value_of("allow.auto.create.topics"),
    )


def first_client_id(group: GroupOptions | None) -> str:
    """Return the client.id that Java gives to the first consumer of a process."""
    if group is None:
        return "consumer-1"
    return f"consumer-{group.group_id}-{group.group_instance_id or 1}"


def metric_options(value_of: Callable[[str], Any]) -> MetricOptions:
    """Return the options of metrics."""
    return MetricOptions(
        samples=value_of("metrics.num.samples"),
        window_ms=value_of("metrics.sample.window.ms"),
        level=value_of("metrics.recording.level"),
        push=value_of("enable.metrics.push"),
    )


def _group_options(given: Mapping[str, object], group_id: str) -> GroupOptions:
    if not group_id.strip():
        raise InvalidGroupId(f"group.id={group_id!r}: expected a name that is not empty or blank")

    def value_of(name: str) -> Any:
        return given.get(name, CONSUMER_KEYS[name].default)

    protocol = value_of("group.protocol").lower()
    if protocol == "consumer":
        for name in _CLASSIC_ONLY:
            if name in given:
                raise ConfigError(f"{name} cannot be set when group.protocol=CONSUMER: the broker decides it")
    elif "group.remote.assignor" in given:
        raise ConfigError("group.remote.assignor cannot be set when group.protocol=CLASSIC: the leader assigns")
    if value_of("heartbeat.interval.ms") < 0:
        raise ConfigError(f"heartbeat.interval.ms={value_of('heartbeat.interval.ms')}: expected at least 0")
    if value_of("heartbeat.interval.ms") >= value_of("session.timeout.ms"):
        raise ConfigError(
            f"heartbeat.interval.ms={value_of('heartbeat.interval.ms')}: must be below session.timeout.ms, "
            f"{value_of('session.timeout.ms')}"
        )
    return GroupOptions(
        group_id=group_id,
        group_instance_id=value_of("group.instance.id"),
        group_protocol=protocol,
        group_remote_assignor=value_of("group.remote.assignor"),
        session_timeout_ms=value_of("session.timeout.ms"),
        heartbeat_interval_ms=value_of("heartbeat.interval.ms"),
        max_poll_interval_ms=value_of("max.poll.interval.ms"),
        enable_auto_commit=value_of("enable.auto.commit"),
        auto_commit_interval_ms=value_of("auto.commit.interval.ms"),
        retry_backoff_ms=value_of("retry.backoff.ms"),
        retry_backoff_max_ms=value_of("retry.backoff.max.ms"),
        client_rack=value_of("client.rack"),
        exclude_internal_topics=value_of("exclude.internal.topics"),
        assignors=[_assignor(one) for one in value_of("partition.assignment.strategy")],
    )


def _assignor(value: object) -> PartitionAssignor:
    """Return an assignor by name, Java's class name, dotted name, class or object."""
    found: object = value
    if isinstance(value, str):
        found = _ASSIGNORS.get(value) or _JAVA_ASSIGNORS.get(value) or _imported(value)
    if isinstance(found, type):
        found = found()
    if not callable(getattr(found, "assign", None)) or not isinstance(getattr(found, "name", None), str):
        raise ConfigError(
            f"partition.assignment.strategy={value!r}: expected {', '.join(_ASSIGNORS)} or a PartitionAssignor"
        )
    return cast("PartitionAssignor", found)


def _imported(name: str) -> object:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError):
        return None

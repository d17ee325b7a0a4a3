"""The configurations of a share consumer as options of its parts. Mirrors ShareConsumerConfig."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_client.client_options import client_options, parsed_options
from broker_client.config.consumer_keys import FETCH_KEYS, NOT_OF_SHARE_GROUPS, SHARE_CONSUMER_KEYS
from broker_client.config.serializers import deserializer_of
from broker_client.consumer_errors import InvalidGroupId
from broker_client.consumer_options import first_client_id, metric_options
from broker_client.core.consumer.deserializers import Deserializers
from broker_client.core.consumer.fetcher import FetchOptions
from broker_client.core.groups.callback_runner import run_here
from broker_client.core.groups.group_options import GroupOptions
from broker_client.core.share.share_consumer_core import ShareConsumerCore
from broker_client.core.share.share_options import AcknowledgementMode, AcquireMode, ShareOptions
from broker_client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_client.core.groups.callback_runner import CallbackRunner
    from broker_client.core.metrics.consumer_metrics import MetricOptions
    from broker_client.core.network.client_core import ClientCore, ClientOptions

__all__ = ["ShareConsumerOptions", "share_consumer_options"]


@dataclass(slots=True, kw_only=True, frozen=True)
class ShareConsumerOptions:
    """The options of each part."""

    client: ClientOptions
    share: ShareOptions
    group: GroupOptions
    metrics: MetricOptions
    deserializers: Deserializers
    allow_auto_create_topics: bool

    def make_core(self, core: ClientCore, run_callback: CallbackRunner = run_here) -> ShareConsumerCore:
        """Return the consumer on a client's core that was made with `by_subscription`."""
        return ShareConsumerCore(
            core,
            self.share,
            self.group,
            run_callback=run_callback,
            metrics=self.metrics,
            deserializers=self.deserializers,
        )


def share_consumer_options(options: Mapping[str, Any]) -> ShareConsumerOptions:
    """Return the options that configurations with Kafka's names describe; underscores may stand for dots.

    Raises:
        InvalidGroupId: there is no group.id.
        ConfigError: an option is unknown, wrong or not served, or is one that share groups do not have.
    """
    names = [name.replace("_", ".") for name in options]
    refused = [name for name in NOT_OF_SHARE_GROUPS if name in names]
    if refused:
        raise ConfigError(f"{', '.join(refused)} cannot be set when using a share group.")
    given = parsed_options(SHARE_CONSUMER_KEYS, options)

    def value_of(name: str) -> Any:
        return given.get(name, SHARE_CONSUMER_KEYS[name].default)

    if not value_of("group.id"):
        raise InvalidGroupId("You must provide a valid group.id in the consumer configuration.")
    group = GroupOptions(
        group_id=value_of("group.id"),
        max_poll_interval_ms=value_of("max.poll.interval.ms"),
        retry_backoff_ms=value_of("retry.backoff.ms"),
        retry_backoff_max_ms=value_of("retry.backoff.max.ms"),
        client_rack=value_of("client.rack"),
    )
    of_fetches: dict[str, Any] = {name.replace(".", "_"): given[name] for name in FETCH_KEYS if name in given}
    return ShareConsumerOptions(
        client=client_options(given, client_id=first_client_id(group)),
        share=ShareOptions(
            fetch=FetchOptions(**of_fetches),
            acknowledgement_mode=AcknowledgementMode(value_of("share.acknowledgement.mode")),
            acquire_mode=AcquireMode[value_of("share.acquire.mode").upper()],
            retry_backoff_ms=group.retry_backoff_ms,
            retry_backoff_max_ms=group.retry_backoff_max_ms,
        ),
        group=group,
        metrics=metric_options(value_of),
        deserializers=Deserializers(
            key=deserializer_of("key.deserializer", value_of("key.deserializer")),
            value=deserializer_of("value.deserializer", value_of("value.deserializer")),
            outcome="it was released",
        ),
        allow_auto_create_topics=value_of("allow.auto.create.topics"),
    )

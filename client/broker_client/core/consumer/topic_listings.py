"""The partitions of topics, whether the consumer reads them or not. Mirrors TopicMetadataFetcher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_client.consumer_errors import is_retriable
from broker_client.core.consumer.call_waits import PendingResult
from broker_client.core.network.old_requests import metadata_request_at
from broker_client.errors import InvalidTopic, ProducerError, ProducerTimeout, TopicAuthorizationFailed
from broker_client.records import PartitionInfo
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic
from sim_runtime.backoff import ExponentialBackoff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_client.core.consumer.call_waits import CallTimer, CallWaits
    from broker_client.core.network.client_core import ClientCore
    from protocol_specs.messages.metadata import MetadataResponse, MetadataResponseTopic

__all__ = ["TopicListings"]

Listing = dict[str, list[PartitionInfo]]


class TopicListings:
    """Call everything on the reactor's thread. Requests Metadata beside that of the subscription."""

    def __init__(self, core: ClientCore, waits: CallWaits) -> None:
        options = core.options
        self._core = core
        self._waits = waits
        self._backoff = ExponentialBackoff(options.retry_backoff_ms, options.retry_backoff_max_ms, 2, 0.2, core.random)

    async def list(self, topics: Sequence[str] | None, timer: CallTimer) -> Listing:
        """Return the partitions of the topics, of all topics for None; without the topics that do not exist.

        Raises:
            TopicAuthorizationFailed: a topic may not be described.
            InvalidTopic: a name is not valid.
            ProducerTimeout: no broker has responded in time.
        """

        def build(version: int) -> MetadataRequest:
            wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
            creates = topics is None or self._core.metadata.allow_auto_topic_creation
            return metadata_request_at(version, MetadataRequest(topics=wanted, allow_auto_topic_creation=creates))

        attempts = 0
        limit_ms = self._core.options.network.request_timeout_ms
        while not timer.is_expired:
            response = self._core.request(MetadataRequest, build, timeout_ms=limit_ms)
            sent = PendingResult.of(response, self._waits)
            await self._waits.until(lambda sent=sent: sent.is_done, timer)  # type: ignore[misc]
            if sent.error is not None and not is_retriable(sent.error):
                raise sent.error
            if sent.is_done and sent.error is None:
                found = _listing(sent.value)
                if found is not None:
                    return found
            await self._waits.sleep(self._backoff.backoff_ms(attempts), timer)
            attempts += 1
        raise ProducerTimeout(f"no metadata of topics after {timer.timeout_ms} ms", "default.api.timeout.ms")


def _listing(response: MetadataResponse) -> Listing | None:
    """Return the partitions by topic; None if a topic has an error that may pass."""
    codes = {topic.name or "": ErrorCode.for_code(topic.error_code) for topic in response.topics}
    unauthorized = [name for name, code in codes.items() if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    if unauthorized:
        raise TopicAuthorizationFailed(", ".join(unauthorized))
    may_pass = False
    for name, code in codes.items():
        if code is ErrorCode.INVALID_TOPIC_EXCEPTION:
            raise InvalidTopic(name)
        if code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
            continue
        if not code.retriable:
            raise ProducerError(f"the metadata of topic {name!r} cannot be read: {code.name}")
        may_pass = True
    if may_pass:
        return None
    return {
        topic.name or "": _partitions(topic) for topic in response.topics if codes[topic.name or ""] is ErrorCode.NONE
    }


def _partitions(topic: MetadataResponseTopic) -> list[PartitionInfo]:
    found: list[Any] = sorted(topic.partitions, key=lambda one: one.partition_index)
    return [
        PartitionInfo(
            topic=topic.name or "",
            partition=one.partition_index,
            leader=one.leader_id if one.leader_id >= 0 else None,
            leader_epoch=one.leader_epoch,
            replicas=tuple(one.replica_nodes),
            in_sync_replicas=tuple(one.isr_nodes),
            offline_replicas=tuple(one.offline_replicas),
        )
        for one in found
    ]

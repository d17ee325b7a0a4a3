"""The admin client on Deferreds: every family of calls under one name. Mirrors KafkaAdminClient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.admin.acls import AclCalls
from broker_client.core.admin.calls import AdminCalls
from broker_client.core.admin.cluster import ClusterCalls
from broker_client.core.admin.configs import ConfigCalls, ConfigEntry
from broker_client.core.admin.delegation_tokens import DelegationTokenCalls
from broker_client.core.admin.group_members import GroupMemberCalls
from broker_client.core.admin.group_offsets import GroupOffsetCalls
from broker_client.core.admin.groups import GroupCalls
from broker_client.core.admin.log_dirs import LogDirCalls
from broker_client.core.admin.log_reads import LogReadCalls
from broker_client.core.admin.quotas import QuotaCalls
from broker_client.core.admin.records import RecordCalls
from broker_client.core.admin.replicas import ReplicaCalls
from broker_client.core.admin.scram_credentials import ScramCalls
from broker_client.core.admin.share_group_offsets import ShareGroupOffsetCalls
from broker_client.core.admin.streams_groups import StreamsGroupCalls
from broker_client.core.admin.topic_partitions import TopicPartitionCalls
from broker_client.core.admin.topics import NewTopic
from broker_client.core.admin.transactions import TransactionCalls
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.errors import BrokerError, ProducerTimeout, error_of
from protocol_specs.error_codes import ErrorCode
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from broker_client.core.network.client_core import ClientCore
    from broker_client.records import PartitionInfo

__all__ = ["AdminCore", "ConfigEntry", "NewTopic"]

RETRY_BACKOFF_MS: Final = 100


class AdminCore(
    TopicPartitionCalls,
    ConfigCalls,
    RecordCalls,
    ReplicaCalls,
    LogDirCalls,
    LogReadCalls,
    ClusterCalls,
    QuotaCalls,
    AclCalls,
    ScramCalls,
    DelegationTokenCalls,
    GroupCalls,
    GroupMemberCalls,
    GroupOffsetCalls,
    ShareGroupOffsetCalls,
    StreamsGroupCalls,
    TransactionCalls,
):
    """Call everything on the reactor's thread."""

    def __init__(self, core: ClientCore) -> None:
        self._core = core
        self._calls = AdminCalls(core)

    async def describe_topic(self, name: str) -> list[PartitionInfo]:
        """The partitions of a topic as a broker reports them now; raises BrokerError when it does not exist."""
        cluster = await self._core.cluster_with([name], refresh=True)
        known = cluster.topics.get(name)
        if known is None:
            code = self._core.metadata.topic_error(name)
            raise error_of(code if code is not ErrorCode.NONE else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
        return list(known.partitions)

    async def wait_for_topic(self, name: str, *, timeout_ms: int = 30_000) -> list[PartitionInfo]:
        """Request metadata until every partition of the topic has a leader."""
        deadline_ms = now_ms_of(self._core.reactor) + timeout_ms
        while now_ms_of(self._core.reactor) < deadline_ms:
            try:
                partitions = await self.describe_topic(name)
            except BrokerError as error:
                if not error.retriable:
                    raise
            else:
                if all(partition.leader is not None for partition in partitions):
                    return partitions
            await sleep(self._core.reactor, RETRY_BACKOFF_MS)
        raise ProducerTimeout(f"topic {name!r} has no leaders after {timeout_ms} ms", "wait_for_topic(timeout_ms)")

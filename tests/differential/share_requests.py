"""Requests of share groups (KIP-932) as cases need them, and members that hold a conversation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import share_acknowledge, share_fetch
from protocol_specs.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.share_acknowledge import ShareAcknowledgeRequest
from protocol_specs.messages.share_fetch import ShareFetchRequest
from protocol_specs.messages.share_group_describe import ShareGroupDescribeRequest
from protocol_specs.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.differential.config_requests import SET, incremental
from tests.differential.group_records import SHARE_STATE_TOPIC
from tests.differential.group_requests import NO_DELAY, group_of
from tests.differential.probe import Connection, Probe, attempts
from tests.differential.requests import metadata

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHARE_COORDINATOR: Final = 2
GROUP_RESOURCE: Final = 32
ONLY_NEW: Final = ("4.3.1",)
GAP, ACCEPT, RELEASE, REJECT, RENEW = 0, 1, 2, 3, 4

SHARE: Final = (
    *NO_DELAY,
    ("group.share.assignment.interval.ms", "0"),
    ("share.coordinator.state.topic.num.partitions", "3"),
    ("share.coordinator.state.topic.replication.factor", "1"),
    ("share.coordinator.state.topic.min.isr", "1"),
)
"""Share groups on one broker, without delays."""

SHORT_LOCKS: Final = (
    *SHARE,
    ("group.share.min.record.lock.duration.ms", "1000"),
    ("group.share.record.lock.duration.ms", "2000"),
    ("group.share.delivery.count.limit", "2"),
)

NO_EPOCH: Final = 99
"""An epoch that no session of a case gets to: a request with it changes nothing."""

Acks = dict[int, list[tuple[int, int, list[int]]]]
"""Partition -> ranges of offsets (first, last) with their acknowledge types."""


def share_group_of(probe: Probe, suffix: str = "g", *, reset: str = "earliest") -> str:
    """Return the id of a share group that starts at a position, once there are coordinators."""
    group = group_of(probe, suffix)
    key = f"{group}:AAAAAAAAAAAAAAAAAAAAAQ:0"
    for _ in attempts("a share coordinator"):
        response: Any = probe.quiet(FindCoordinatorRequest(coordinator_keys=[key], key_type=SHARE_COORDINATOR), 6)
        if response.coordinators[0].error_code == 0:
            break
    described: Any = probe.quiet(metadata(SHARE_STATE_TOPIC), 12)
    probe.normaliser.know_topic(SHARE_STATE_TOPIC, described.topics[0].topic_id)
    if reset != "latest":
        probe.quiet(incremental((GROUP_RESOURCE, group, [("share.auto.offset.reset", SET, reset)])), 1)
        resource = DescribeConfigsResource(
            resource_type=GROUP_RESOURCE, resource_name=group, configuration_keys=["share.auto.offset.reset"]
        )
        for _ in attempts("the start of the group"):
            found: Any = probe.quiet(DescribeConfigsRequest(resources=[resource]), 4)
            if found.results[0].configs[0].value == reset:
                break
    return group


def share_heartbeat(
    group: str, member_id: str, epoch: int, *, topics: Sequence[str] | None = None, rack: str | None = None
) -> ShareGroupHeartbeatRequest:
    """A ShareGroupHeartbeat; what is None is unchanged."""
    return ShareGroupHeartbeatRequest(
        group_id=group,
        member_id=member_id,
        member_epoch=epoch,
        rack_id=rack,
        subscribed_topic_names=None if topics is None else list(topics),
    )


def share_describe(*groups: str, include_authorized_operations: bool = False) -> ShareGroupDescribeRequest:
    """A ShareGroupDescribe."""
    return ShareGroupDescribeRequest(
        group_ids=list(groups), include_authorized_operations=include_authorized_operations
    )


def fetch_shared(
    group: str | None,
    member_id: str | None,
    epoch: int,
    topics: Mapping[bytes, Acks] | None = None,
    *,
    forget: Mapping[bytes, Sequence[int]] | None = None,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    max_records: int = 500,
    batch_size: int = 500,
    acquire_mode: int = 0,
    renew: bool = False,
) -> ShareFetchRequest:
    """A ShareFetch of partitions, each with acknowledgements of earlier records."""
    return ShareFetchRequest(
        group_id=group,
        member_id=member_id,
        share_session_epoch=epoch,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        max_records=max_records,
        batch_size=batch_size,
        share_acquire_mode=acquire_mode,
        is_renew_ack=renew,
        topics=[
            share_fetch.FetchTopic(
                topic_id=topic_id,
                partitions=[
                    share_fetch.FetchPartition(
                        partition_index=index,
                        acknowledgement_batches=[
                            share_fetch.AcknowledgementBatch(
                                first_offset=first, last_offset=last, acknowledge_types=kinds
                            )
                            for first, last, kinds in ranges
                        ],
                    )
                    for index, ranges in partitions.items()
                ],
            )
            for topic_id, partitions in (topics or {}).items()
        ],
        forgotten_topics_data=[
            share_fetch.ForgottenTopic(topic_id=topic_id, partitions=list(indexes))
            for topic_id, indexes in (forget or {}).items()
        ],
    )


def acknowledge(
    group: str | None,
    member_id: str | None,
    epoch: int,
    topics: Mapping[bytes, Acks] | None = None,
    *,
    renew: bool = False,
) -> ShareAcknowledgeRequest:
    """A ShareAcknowledge of ranges of offsets by partition."""
    return ShareAcknowledgeRequest(
        group_id=group,
        member_id=member_id,
        share_session_epoch=epoch,
        is_renew_ack=renew,
        topics=[
            share_acknowledge.AcknowledgeTopic(
                topic_id=topic_id,
                partitions=[
                    share_acknowledge.AcknowledgePartition(
                        partition_index=index,
                        acknowledgement_batches=[
                            share_acknowledge.AcknowledgementBatch(
                                first_offset=first, last_offset=last, acknowledge_types=kinds
                            )
                            for first, last, kinds in ranges
                        ],
                    )
                    for index, ranges in partitions.items()
                ],
            )
            for topic_id, partitions in (topics or {}).items()
        ],
    )


def await_session_end(probe: Probe, group: str, member_id: str) -> None:
    """Wait until the broker has closed a member's share session, after the connection of the member."""
    for _ in attempts(f"the session of {member_id} to end"):
        response: Any = probe.quiet(fetch_shared(group, member_id, NO_EPOCH), 2)
        if response.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND:
            return


@dataclass(slots=True)
class ShareConsumer:
    """A member of a share group with its share session, on a connection of its own."""

    probe: Probe
    group: str
    id: str
    topics: Sequence[str]
    epoch: int = 0
    session: int = 0
    assigned: int = 0
    """The number of its partitions."""
    connection: Connection = field(init=False)

    def __post_init__(self) -> None:
        self.connection = self.probe.connect()

    def join(self, *, note: str = "") -> Any:
        """Join the group."""
        request = share_heartbeat(self.group, self.id, 0, topics=self.topics)
        return self._learn(self.probe.exchange(request, 1, note=note or f"{self.id} joins"))

    def beat(self, *, note: str = "", **options: Any) -> Any:
        """Send a heartbeat."""
        request = share_heartbeat(self.group, self.id, self.epoch, **options)
        return self._learn(self.probe.exchange(request, 1, note=note or self.id))

    def leave(self, *, note: str = "") -> Any:
        """Leave the group."""
        return self.probe.exchange(share_heartbeat(self.group, self.id, -1), 1, note=note or f"{self.id} leaves")

    def await_assignment(self, partitions: int) -> None:
        """Send heartbeats that are not recorded until so many partitions are assigned: they are initialized first."""
        for _ in attempts(f"{partitions} partitions of {self.group} to be assigned"):
            if self.assigned == partitions:
                return
            self._learn(self.probe.quiet(share_heartbeat(self.group, self.id, self.epoch), 1))

    def fetch(
        self, topics: Mapping[bytes, Acks] | None = None, *, version: int = 2, note: str = "", **options: Any
    ) -> Any:
        """Fetch in its session."""
        request = fetch_shared(self.group, self.id, self.session, topics, **options)
        response = self.probe.exchange(request, version, on=self.connection, note=note or self.id)
        if not isinstance(response, str) and response.error_code == 0:
            self.session += 1
        return response

    def acknowledge(self, topics: Mapping[bytes, Acks], *, version: int = 2, note: str = "", **options: Any) -> Any:
        """Acknowledge in its session."""
        request = acknowledge(self.group, self.id, self.session, topics, **options)
        response = self.probe.exchange(request, version, on=self.connection, note=note or self.id)
        if not isinstance(response, str) and response.error_code == 0:
            self.session += 1
        return response

    def _learn(self, response: Any) -> Any:
        if not isinstance(response, str) and response.error_code == 0:
            self.epoch = response.member_epoch
            if response.assignment is not None:
                self.assigned = sum(len(each.partitions) for each in response.assignment.topic_partitions)
        return response

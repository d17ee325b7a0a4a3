"""Requests of consumer groups (KIP-848) as cases need them, and members that hold a conversation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol_specs.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.differential.group_requests import NO_DELAY
from tests.differential.probe import attempts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.differential.probe import Probe

NEW_COORDINATOR: Final = (
    ("group.coordinator.new.enable", "true"),
    ("group.coordinator.rebalance.protocols", "classic,consumer"),
)
"""3.7 serves consumer groups only so."""

AT_ONCE: Final = (*NO_DELAY, *NEW_COORDINATOR, ("group.consumer.assignment.interval.ms", "0"))
"""Assignments are computed by each heartbeat that finds a new group epoch."""

SHORT_SESSIONS: Final = (
    *AT_ONCE,
    ("group.consumer.min.session.timeout.ms", "100"),
    ("group.consumer.session.timeout.ms", "1500"),
    ("group.consumer.min.heartbeat.interval.ms", "100"),
    ("group.consumer.heartbeat.interval.ms", "300"),
)

Owned = dict[bytes, list[int]]


def consumer_heartbeat(
    group: str,
    member_id: str,
    epoch: int,
    *,
    topics: Sequence[str] | None = None,
    regex: str | None = None,
    owned: Mapping[bytes, Sequence[int]] | None = None,
    rebalance_ms: int = -1,
    instance: str | None = None,
    rack: str | None = None,
    assignor: str | None = None,
) -> ConsumerGroupHeartbeatRequest:
    """A ConsumerGroupHeartbeat; what is None is unchanged."""
    return ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member_id,
        member_epoch=epoch,
        instance_id=instance,
        rack_id=rack,
        rebalance_timeout_ms=rebalance_ms,
        subscribed_topic_names=None if topics is None else list(topics),
        subscribed_topic_regex=regex,
        server_assignor=assignor,
        topic_partitions=None
        if owned is None
        else [TopicPartitions(topic_id=name, partitions=list(indexes)) for name, indexes in owned.items()],
    )


def consumer_describe(*groups: str, include_authorized_operations: bool = False) -> ConsumerGroupDescribeRequest:
    """A ConsumerGroupDescribe."""
    return ConsumerGroupDescribeRequest(
        group_ids=list(groups), include_authorized_operations=include_authorized_operations
    )


@dataclass(slots=True)
class Consumer:
    """A member of a consumer group: every heartbeat is recorded; its epoch and assignment are learned."""

    probe: Probe
    group: str
    id: str
    topics: Sequence[str] | None = ()
    regex: str | None = None
    instance: str | None = None
    assignor: str | None = None
    rack: str | None = None
    rebalance_ms: int = 10_000
    version: int = 0
    epoch: int = 0
    assigned: Owned = field(default_factory=dict)

    def join(self, *, note: str = "", **options: Any) -> Any:
        """Send the first heartbeat, with every field."""
        fields: dict[str, Any] = {
            "topics": self.topics,
            "regex": self.regex,
            "owned": {},
            "rebalance_ms": self.rebalance_ms,
            "instance": self.instance,
            "rack": self.rack,
            "assignor": self.assignor,
        }
        return self._send(consumer_heartbeat(self.group, self.id, 0, **(fields | options)), note or f"{self.id} joins")

    def beat(self, *, note: str = "", **options: Any) -> Any:
        """Send a heartbeat in which nothing has changed besides the options."""
        options.setdefault("instance", self.instance)
        request = consumer_heartbeat(self.group, self.id, self.epoch, **options)
        return self._send(request, note or self.id)

    def report(self, *, note: str = "") -> Any:
        """Send a heartbeat that lists the assigned partitions as owned, as a client does when it has reconciled."""
        return self.beat(owned=self.assigned, note=note or f"{self.id} owns what it was assigned")

    def leave(self, epoch: int = -1, *, note: str = "") -> Any:
        """Leave the group (-1), or pause as a static member (-2)."""
        request = consumer_heartbeat(self.group, self.id, epoch, instance=self.instance)
        return self.probe.exchange(request, self.version, note=note or f"{self.id} leaves")

    def await_beat(self, reached: Any) -> None:
        """Send heartbeats that are not recorded until the response satisfies a condition."""
        for _ in attempts(f"{self.id} of {self.group}"):
            request = consumer_heartbeat(self.group, self.id, self.epoch, instance=self.instance)
            response: Any = self.probe.quiet(request, self.version)
            self._learn(response)
            if reached(response):
                return

    def _send(self, request: ConsumerGroupHeartbeatRequest, note: str) -> Any:
        response = self.probe.exchange(request, self.version, note=note)
        self._learn(response)
        return response

    def _learn(self, response: Any) -> None:
        if not isinstance(response, str) and response.error_code == 0:
            self.epoch = response.member_epoch
            self.id = response.member_id or self.id
            if response.assignment is not None:
                self.assigned = {each.topic_id: each.partitions for each in response.assignment.topic_partitions}

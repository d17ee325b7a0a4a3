"""Share sessions: a node remembers the partitions of a member, which sends additions and removals (KIP-932).

Mirrors ShareSessionHandler and ShareRequestMetadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import share_acknowledge, share_fetch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_client.core.share.acknowledgements import ByPartition
    from broker_client.core.share.share_options import ShareOptions
    from broker_client.share_groups import TopicIdPartition

__all__ = ["ShareSession"]

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_EPOCH_MAX: Final = 2**31 - 1
_RESETS: Final = (
    ErrorCode.SHARE_SESSION_NOT_FOUND,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH,
    ErrorCode.SHARE_SESSION_LIMIT_REACHED,
)


class ShareSession:
    """The session with one node: add what the next request contains, then take the request."""

    __slots__ = ("_acknowledgements", "_epoch", "_group_id", "_member_id", "_next", "partitions")

    def __init__(self, group_id: str, member_id: str) -> None:
        self._group_id = group_id
        self._member_id = member_id
        self._epoch = INITIAL_EPOCH
        self.partitions: dict[TopicPartition, TopicIdPartition] = {}
        self._next: dict[TopicPartition, TopicIdPartition] = {}
        self._acknowledgements: ByPartition = {}

    @property
    def is_new(self) -> bool:
        """True if the next request opens the session, and cannot acknowledge anything."""
        return self._epoch == INITIAL_EPOCH

    def add_partition(self, partition: TopicIdPartition) -> None:
        """Have the session contain a partition."""
        self._next[TopicPartition(partition.topic, partition.partition)] = partition

    def add_acknowledgements(self, acknowledgements: ByPartition) -> None:
        """Send acknowledgements with the next request."""
        self._acknowledgements.update(acknowledgements)

    def fetch_request(self, options: ShareOptions, *, only_changes: bool) -> share_fetch.ShareFetchRequest | None:
        """Return the next ShareFetch; with `only_changes` one that fetches nothing, or None if nothing has changed."""
        added, removed = self._changes()
        acknowledgements, self._acknowledgements = self._acknowledgements, {}
        self._next = {}
        if only_changes and not (added or removed or acknowledgements):
            return None
        is_renewal = any(one.has_renewals for one in acknowledgements.values())
        request = share_fetch.ShareFetchRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            share_session_epoch=self._epoch,
            max_bytes=0,
            share_acquire_mode=options.acquire_mode,
            is_renew_ack=is_renewal,
        )
        if not (is_renewal or only_changes):
            request.max_wait_ms = options.fetch.fetch_max_wait_ms
            request.min_bytes = options.fetch.fetch_min_bytes
            request.max_bytes = options.fetch.fetch_max_bytes
            request.max_records = request.batch_size = options.fetch.max_poll_records
        ranges = {one: acknowledgements[one].ranges() for one in acknowledgements}
        for topic_id, partitions in _by_topic({**dict.fromkeys(added), **dict.fromkeys(ranges)}).items():
            topic = share_fetch.FetchTopic(topic_id=topic_id)
            for one in partitions:
                batches = [share_fetch.AcknowledgementBatch(**each._asdict()) for each in ranges.get(one, ())]
                topic.partitions.append(
                    share_fetch.FetchPartition(partition_index=one.partition, acknowledgement_batches=batches)
                )
            request.topics.append(topic)
        for topic_id, partitions in _by_topic(removed).items():
            numbers = [one.partition for one in partitions]
            request.forgotten_topics_data.append(share_fetch.ForgottenTopic(topic_id=topic_id, partitions=numbers))
        return request

    def acknowledge_request(self) -> share_acknowledge.ShareAcknowledgeRequest | None:
        """Return the next ShareAcknowledge; None if the session is new: it cannot open one."""
        acknowledgements, self._acknowledgements = self._acknowledgements, {}
        if self.is_new:
            self._next = {}
            return None
        request = share_acknowledge.ShareAcknowledgeRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            share_session_epoch=self._epoch,
            is_renew_ack=any(one.has_renewals for one in acknowledgements.values()),
        )
        for topic_id, partitions in _by_topic(acknowledgements).items():
            topic = share_acknowledge.AcknowledgeTopic(topic_id=topic_id)
            for one in partitions:
                ranges = acknowledgements[one].ranges()
                batches = [share_acknowledge.AcknowledgementBatch(**each._asdict()) for each in ranges]
                topic.partitions.append(
                    share_acknowledge.AcknowledgePartition(
                        partition_index=one.partition, acknowledgement_batches=batches
                    )
                )
            request.topics.append(topic)
        return request

    def close(self) -> None:
        """Have the next request end the session."""
        self._epoch = FINAL_EPOCH

    def responded(self, code: ErrorCode) -> None:
        """A response has arrived, with the error of the whole request: the next epoch, or a new session."""
        if code in _RESETS:
            self._epoch = INITIAL_EPOCH
        elif self._epoch != FINAL_EPOCH:
            self._epoch = 1 if self._epoch == _EPOCH_MAX else self._epoch + 1

    def failed(self) -> None:
        """No response has arrived: the next request opens the session again."""
        self._epoch = INITIAL_EPOCH

    def _changes(self) -> tuple[list[TopicIdPartition], list[TopicIdPartition]]:
        """Make the session that of the next request; return the partitions to add and to remove."""
        if self.is_new:
            self.partitions.update(self._next)
            return list(self.partitions.values()), []
        before, removed, replaced = self.partitions, [], []
        self.partitions = {}
        wanted = self._next
        for key, known in before.items():
            found = wanted.pop(key, None)
            if found is None:
                removed.append(known)
                continue
            self.partitions[key] = found
            if found != known:  # the topic was created again
                replaced.append(known)
                wanted[key] = found
        self.partitions.update(wanted)
        return list(wanted.values()), removed + replaced


def _by_topic(partitions: Iterable[TopicIdPartition]) -> dict[bytes, list[TopicIdPartition]]:
    found: dict[bytes, list[Any]] = {}
    for one in partitions:
        found.setdefault(one.topic_id, []).append(one)
    return found

"""The results of APIs that commit or delete offsets: one error per partition, by topic.

Mirrors OffsetCommitResponse.Builder and its like: partitions that the metadata does not know are refused before the
coordinator sees the request, and their topics come first in the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from broker_sim.apis.partition_order import immutable_order, mutable_order, partition_hash_with_id
from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator
from broker_sim.coordinators.operation_errors import client_error
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.coordinator_error import CoordinatorError
    from broker_sim.coordinators.runtime.pending_writes import PendingWrite
    from broker_sim.metadata.metadata_image import MetadataImage

__all__ = [
    "KnownPartitions",
    "Named",
    "PartitionErrors",
    "by_topic",
    "errors_of",
    "failed_commits",
    "in_map_order",
    "refused_commits",
]

Named = tuple[str, bytes]
"""The name and id of a topic."""
P = TypeVar("P")

PartitionErrors = list[tuple[Named, list[tuple[int, ErrorCode]]]]
"""Per topic the errors of partitions, in the order of the response."""

_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE)


class KnownPartitions(Generic[P]):
    """The topics and partitions of a request that exist, and the errors of the others."""

    def __init__(self) -> None:
        self.errors: PartitionErrors = []
        self.topics: list[tuple[Named, list[P]]] = []

    def add_topic(
        self,
        topic: Named,
        partitions: Sequence[P],
        index_of: Callable[[P], int],
        image: MetadataImage,
        *,
        any_partition: bool = False,
    ) -> None:
        """Add a topic of the request; partitions that do not exist are refused with UNKNOWN_TOPIC_OR_PARTITION.

        With `any_partition` an existing topic has every partition.
        """
        known = image.topics.get(topic[0])
        count = 0 if known is None else len(known.partitions)
        valid = []
        for partition in partitions:
            if 0 <= index_of(partition) < count or (any_partition and known is not None):
                valid.append(partition)
            else:
                self._refuse(topic, [index_of(partition)], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if known is None and not partitions:
            self._refuse(topic, [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if valid:
            self.topics.append((topic, valid))

    def refuse_topic(self, topic: Named, indexes: Iterable[int], error_code: ErrorCode) -> None:
        """Refuse all partitions of a topic."""
        self._refuse(topic, indexes, error_code)

    def _refuse(self, topic: Named, indexes: Iterable[int], error_code: ErrorCode) -> None:
        _partitions_of(self.errors, topic).extend((index, error_code) for index in indexes)

    def flat(self) -> list[tuple[Named, P]]:
        """Return the topic and the partition of each existing one."""
        return [(topic, partition) for topic, partitions in self.topics for partition in partitions]

    def results(self, errors: Sequence[ErrorCode], index_of: Callable[[P], int]) -> PartitionErrors:
        """Return the errors of `flat()` by topic; a repeated topic is repeated."""
        left = iter(errors)
        return [
            (topic, [(index_of(partition), next(left)) for partition in partitions])
            for topic, partitions in self.topics
        ]

    def merged(self, results: PartitionErrors) -> PartitionErrors:
        """Return the errors of unknown partitions and the results of the others."""
        if not self.errors:
            return results
        merged = [(topic, list(partitions)) for topic, partitions in self.errors]
        for topic, partitions in results:
            _partitions_of(merged, topic).extend(partitions)
        return merged


def _partitions_of(errors: PartitionErrors, topic: Named) -> list[tuple[int, ErrorCode]]:
    for known, results in errors:
        if known == topic:
            return results
    partitions: list[tuple[int, ErrorCode]] = []
    errors.append((topic, partitions))
    return partitions


def errors_of(
    topics: Iterable[tuple[Named, Sequence[P]]], index_of: Callable[[P], int], error_code: ErrorCode
) -> PartitionErrors:
    """Return one error for all partitions of a request."""
    return [(topic, [(index_of(partition), error_code) for partition in partitions]) for topic, partitions in topics]


def by_topic(
    items: Sequence[tuple[Named, P]],
    errors: Sequence[ErrorCode],
    index_of: Callable[[P], int],
) -> PartitionErrors:
    """Return the errors of partitions by topic: each topic once, where its first partition comes."""
    topics: dict[Named, list[tuple[int, ErrorCode]]] = {}
    for (topic, partition), error_code in zip(items, errors, strict=True):
        topics.setdefault(topic, []).append((index_of(partition), error_code))
    return list(topics.items())


def in_map_order(items: Sequence[tuple[Named, P]], index_of: Callable[[P], int]) -> list[tuple[Named, P]]:
    """Return partitions as Scala's maps list them after each other; a repeated partition counts once, as its last."""
    last = {(topic[0], index_of(partition)): (topic, partition) for topic, partition in items}
    keys = immutable_order(mutable_order(list(last), partition_hash_with_id), partition_hash_with_id)
    return [last[key] for key in keys]


def refused_commits(error: CoordinatorError, count: int, context: RequestContext) -> list[ErrorCode]:
    """Return the errors of `count` refused commits."""
    return [_commit_error(error.error_code, context)] * count


def failed_commits(
    error: CoordinatorError, written: PendingWrite, count: int, context: RequestContext
) -> list[ErrorCode]:
    """Return the errors of `count` commits of a write that has failed.

    The old coordinator keeps the errors of commits that it has left out of the records.
    """
    errors = refused_commits(error, count, context)
    if written.response is None or not uses_old_coordinator(context.broker.config):
        return errors
    return [own or common for own, common in zip(written.response, errors, strict=True)]


def _commit_error(error_code: ErrorCode, context: RequestContext) -> ErrorCode:
    """Return the error of a response for a failed commit. Mirrors maybeConvertOffsetCommitError before 4.0."""
    if uses_old_coordinator(context.broker.config):
        if error_code in _TOO_LARGE:
            return ErrorCode.INVALID_COMMIT_OFFSET_SIZE
        if error_code == ErrorCode.REQUEST_TIMED_OUT:
            return error_code
    return client_error(error_code)

"""Validation of replica assignments in requests. Mirrors validateManualPartitionAssignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from broker_sim.metadata.metadata_image import MetadataImage


class Refused(Exception):
    """The controller rejects one topic or partition, with the error and the text of its result."""

    def __init__(self, error_code: ErrorCode, message: str | None) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.message = message


def validate_manual_assignment(
    broker_ids: Sequence[int], image: MetadataImage, *, replication_factor: int | None = None
) -> None:
    """Raise Refused for replicas that are none, unknown, twice there, or not as many as `replication_factor`."""
    manual = "The manual partition assignment includes"
    if not broker_ids:
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{manual} an empty replica list.")
    previous: int | None = None
    for broker_id in sorted(broker_ids):
        if broker_id not in image.brokers:
            message = f"{manual} broker {broker_id}, but no such broker is registered."
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        if broker_id == previous:
            message = f"{manual} the broker {broker_id} more than once."
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        previous = broker_id
    if replication_factor is not None and len(broker_ids) != replication_factor:
        message = (
            f"{manual} a partition with {len(broker_ids)} replica(s), but this is not consistent with previous "
            f"partitions, which have {replication_factor} replica(s)."
        )
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def only_active(broker_ids: Iterable[int], image: MetadataImage) -> tuple[int, ...]:
    """Return the brokers that may lead and join an ISR."""
    return tuple(broker_id for broker_id in broker_ids if image.is_active(broker_id))

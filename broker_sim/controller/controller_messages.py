"""What brokers and controller say to each other beside the client protocol, as plain messages over the links.

Mirrors AlterPartition (56), BrokerRegistration (62), BrokerHeartbeat (63), AllocateProducerIds (67) and the broker's
Fetch of the metadata log, in the fields that this simulator uses. The topic APIs are forwarded as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.controller.metadata_image import MetadataImage
    from broker_sim.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrProposal:
    """One partition of an AlterPartition: the ISR that its leader wants, each member with its broker epoch."""

    topic_partition: TopicPartition
    topic_id: bytes
    leader_epoch: int
    partition_epoch: int
    new_isr: tuple[tuple[int, int], ...]


@dataclass(slots=True, kw_only=True)
class AlterPartitionRequest:
    """A leader asks for other ISRs."""

    NAME: ClassVar[str] = "AlterPartition"
    API_KEY: ClassVar[int] = 56
    broker_id: int
    broker_epoch: int
    proposals: list[IsrProposal]


@dataclass(slots=True, kw_only=True)
class AlteredPartition:
    """The controller's answer for one partition; the rest counts with error NONE alone."""

    topic_partition: TopicPartition
    error_code: ErrorCode = ErrorCode.NONE
    leader: int = -1
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    partition_epoch: int = -1


@dataclass(slots=True, kw_only=True)
class AlterPartitionResponse:
    """The answers, in the order of the proposals."""

    error_code: ErrorCode = ErrorCode.NONE
    partitions: list[AlteredPartition] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class BrokerRegistrationRequest:
    """A broker that has started wants an epoch. `incarnation` tells two runs of one broker apart."""

    NAME: ClassVar[str] = "BrokerRegistration"
    API_KEY: ClassVar[int] = 62
    broker_id: int
    incarnation: bytes
    host: str
    port: int
    rack: str | None
    previous_broker_epoch: int
    log_dirs: tuple[bytes, ...] = ()
    """The ids of the log directories that are online."""
    listeners: Mapping[str, tuple[str, int]] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class BrokerRegistrationResponse:
    """The new epoch, -1 with an error."""

    error_code: ErrorCode = ErrorCode.NONE
    broker_epoch: int = -1


@dataclass(slots=True, kw_only=True)
class BrokerHeartbeatRequest:
    """A broker is alive, and has applied the metadata up to a version."""

    NAME: ClassVar[str] = "BrokerHeartbeat"
    API_KEY: ClassVar[int] = 63
    broker_id: int
    broker_epoch: int
    current_metadata_version: int
    want_fence: bool
    want_shut_down: bool
    offline_log_dirs: tuple[bytes, ...] = ()
    """The ids of the log directories that have failed in this run of the broker (KIP-858)."""


@dataclass(slots=True, kw_only=True)
class BrokerHeartbeatResponse:
    """What the controller makes of the broker."""

    error_code: ErrorCode = ErrorCode.NONE
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


@dataclass(slots=True, kw_only=True)
class AllocateProducerIdsRequest:
    """A broker has used up its block of producer ids."""

    NAME: ClassVar[str] = "AllocateProducerIds"
    API_KEY: ClassVar[int] = 67
    broker_id: int
    broker_epoch: int


@dataclass(slots=True, kw_only=True)
class AllocateProducerIdsResponse:
    """Ids `producer_id_start` to before `producer_id_start + producer_id_len`."""

    error_code: ErrorCode = ErrorCode.NONE
    producer_id_start: int = -1
    producer_id_len: int = 0


@dataclass(slots=True, kw_only=True)
class MetadataLogRequest:
    """A broker asks for whatever is newer than the version that it has; it waits until there is something."""

    NAME: ClassVar[str] = "FetchMetadataLog"
    API_KEY: ClassVar[int] = -1
    broker_id: int
    version: int


@dataclass(slots=True, kw_only=True)
class MetadataLogResponse:
    """The newest committed image."""

    image: MetadataImage

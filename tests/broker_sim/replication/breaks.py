"""Mistakes that a replicated log must not make, as defects that no broker ever had: the machines have to find them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.controller.controller import Controller
from broker_sim.controller.election import Election
from broker_sim.defects import DEFECTS
from broker_sim.replication.isr import expanding
from broker_sim.replication.partition import Partition
from broker_sim.replication.replica_fetcher import ReplicaFetcher
from protocol_specs.error_codes import ErrorCode
from tests.broker_sim.planted_defects import planted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.controller.election import ElectionRules
    from broker_sim.defects.defect import Defect
    from broker_sim.metadata.metadata_image import MetadataImage, PartitionRegistration
    from broker_sim.replication.isr import FollowerState
    from broker_sim.topic_partition import TopicPartition


class AckBeforeIsr(Partition):
    """acks=all is acknowledged when only the leader has the record."""

    __slots__ = ()

    def enough_replicas_reached(self, _: int) -> ErrorCode | None:
        return ErrorCode.NONE


class CommitBeforeIsr(Partition):
    """The high watermark follows the leader's own end."""

    __slots__ = ()

    def maybe_increment_high_watermark(self, _: int) -> bool:
        self.log.update_high_watermark(self.log.log_end_offset)
        self._complete_produces()
        return True


class JoinWithoutCatchingUp(Partition):
    """A follower joins the ISR with its first fetch."""

    __slots__ = ()

    def _maybe_expand_isr(self, follower: FollowerState) -> None:
        if not self.isr_state.in_flight and self.is_leader:
            self._propose(expanding(self.isr_state.isr, follower.broker_id))


class CutAtTheHighWatermark(ReplicaFetcher):
    """A follower cuts its log at its own high watermark when a leader disagrees or is new (before KIP-101)."""

    def add(self, partition: Partition) -> None:
        partition.truncate_to(partition.log.high_watermark, "broken on purpose")
        super().add(partition)


class TrustAnyEpoch(Partition):
    """No request is fenced, and a follower's last epoch is not compared (without KIP-320 and KIP-595)."""

    __slots__ = ()

    def check_access(self, *_: int, **__: bool) -> ErrorCode:
        return ErrorCode.NONE

    def agrees_with(self, _: int, fetch_offset: int) -> bool:
        return self.log.log_start_offset <= fetch_offset <= self.log.log_end_offset

    def diverging_epoch(self, *_: int) -> None:
        return None


class ElectAnybody(Controller):
    """Leaders are elected from all live replicas, also for topics that do not allow it."""

    def election_rules(
        self, image: MetadataImage, topic_partition: TopicPartition, *, election: Election | None = None, **options: Any
    ) -> ElectionRules:
        del election
        return super().election_rules(image, topic_partition, election=Election.UNCLEAN, **options)

    def _commit(self, image: MetadataImage, unclean: Iterable[TopicPartition] = ()) -> None:
        del unclean  # the journal has clean elections
        super()._commit(image)


class ForgetOnRestart(Partition):
    """A new leader begins without the last record that it does not know as committed."""

    __slots__ = ()

    def make_leader(self, registration: PartitionRegistration) -> bool:
        if not self.is_leader and self.log.log_end_offset > self.log.high_watermark:
            self.log.truncate_to(self.log.log_end_offset - 1)
        return super().make_leader(registration)


_OF_NO_BROKER: Final = {
    "ack-before-isr": AckBeforeIsr,
    "commit-before-isr": CommitBeforeIsr,
    "join-without-catching-up": JoinWithoutCatchingUp,
    "cut-at-the-high-watermark": CutAtTheHighWatermark,
    "trust-any-epoch": TrustAnyEpoch,
    "elect-anybody": ElectAnybody,
    "forget-on-restart": ForgetOnRestart,
}
_DOCUMENTED: Final = (
    "high-watermark-ignores-newcomers",
    "high-watermark-stalls-after-reassignment",
)

BREAKS: Final[Mapping[str, Defect]] = {
    **{name: planted(substitute) for name, substitute in _OF_NO_BROKER.items()},
    **{name: DEFECTS[name] for name in _DOCUMENTED},
}

"""Computes a partition's next ISR, leader and eligible leaders. Mirrors PartitionChangeBuilder.

Leaders come from the ISR; while the ISR is empty, from the eligible leader replicas (ELR, KIP-966, releases from 4.x
on); then the last known leader, alone; then, if the topic allows an unclean election, any replica that is alive.
Without ELR the ISR never empties: the last member stays in it, leader or not. Every change of a partition also
completes its reassignment if the ISR allows that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from broker_sim.controller.reassignment import Assignment, assignment_of
from broker_sim.metadata.metadata_image import NO_LEADER, RECOVERING

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.metadata.metadata_image import PartitionRegistration


class Election(Enum):
    """The kind of an election."""

    ONLINE = auto()
    """Keep the leader while it may lead; else the first replica that may."""
    PREFERRED = auto()
    """The first replica of the assignment, if it may lead."""
    UNCLEAN = auto()
    """As ONLINE, but without an in-sync replica that is alive, any replica that is alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionRules:
    """The rules of a partition's elections; `is_acceptable` returns True for a broker that can lead at all."""

    election: Election
    is_acceptable: Callable[[int], bool]
    min_isr: int
    elr_enabled: bool
    shrinks_safely: bool = True
    """See Assignment.completed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChange:
    """The partition as it should be, and whether its new leader was elected uncleanly."""

    registration: PartitionRegistration
    unclean: bool = False


def change_partition(
    partition: PartitionRegistration,
    *,
    target_isr: tuple[int, ...],
    rules: ElectionRules,
    unclean_shutdown: tuple[int, ...] = (),
    target: Assignment | None = None,
    recovery_state: int | None = None,
) -> PartitionChange | None:
    """Return the change to another ISR and, if needed, another leader; None when nothing changes.

    A new leader, no leader, or a removed replica starts a new leader epoch; any change starts a new partition epoch.
    Replicas in `unclean_shutdown` may have lost records: they are not eligible any more. `target` also reassigns the
    partition; `recovery_state` is the state that its leader reports (KIP-704).
    """
    assignment, target_isr = (target or assignment_of(partition)).completed(
        target_isr, shrinks_safely=rules.shrinks_safely
    )
    target_elr = _target_elr(partition, target_isr, rules, unclean_shutdown)
    leader, unclean = _elect(partition, assignment.replicas, target_isr, target_elr, rules)
    isr = target_isr
    if leader != partition.leader:
        if leader in target_elr:
            isr = (leader,)
            target_elr = tuple(replica for replica in target_elr if replica != leader)
        if unclean:
            isr = (leader,)
    if unclean or not rules.elr_enabled:
        target_elr = ()
    if not isr and not rules.elr_enabled:
        isr = partition.isr
    recovering = partition.leader_recovery_state if recovery_state is None else recovery_state
    if unclean and leader != partition.leader:
        recovering = RECOVERING
    new_epoch = leader != partition.leader or not set(partition.replicas) <= set(assignment.replicas)
    changed = replace(
        partition,
        replicas=assignment.replicas,
        adding_replicas=assignment.adding,
        removing_replicas=assignment.removing,
        isr=isr,
        elr=target_elr,
        last_known_elr=_last_known(partition, isr, leader, rules),
        leader=leader,
        leader_epoch=partition.leader_epoch + new_epoch,
        leader_recovery_state=recovering,
    )
    if changed == partition:
        return None
    return PartitionChange(
        registration=replace(changed, partition_epoch=partition.partition_epoch + 1), unclean=unclean
    )


def _target_elr(
    partition: PartitionRegistration,
    target_isr: tuple[int, ...],
    rules: ElectionRules,
    unclean_shutdown: tuple[int, ...],
) -> tuple[int, ...]:
    if not rules.elr_enabled or len(target_isr) >= rules.min_isr:
        return ()
    return tuple(
        replica
        for replica in sorted({*partition.elr, *partition.isr})
        if replica not in target_isr and replica not in unclean_shutdown
    )


def _elect(
    partition: PartitionRegistration,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    elr: tuple[int, ...],
    rules: ElectionRules,
) -> tuple[int, bool]:
    candidates = isr or elr

    def may_lead(replica: int) -> bool:
        return replica in candidates and rules.is_acceptable(replica)

    order = list(replicas)
    if rules.election is Election.PREFERRED:
        order.insert(1, partition.leader)
    else:
        order.insert(0, partition.leader)
    for replica in order:
        if may_lead(replica):
            return replica, False
    last_known = partition.last_known_elr
    if rules.elr_enabled and not candidates and len(last_known) == 1 and rules.is_acceptable(last_known[0]):
        return last_known[0], True
    if rules.election is Election.UNCLEAN:
        for replica in replicas:
            if rules.is_acceptable(replica):
                return replica, True
    return NO_LEADER, False


def _last_known(
    partition: PartitionRegistration, isr: tuple[int, ...], leader: int, rules: ElectionRules
) -> tuple[int, ...]:
    if not rules.elr_enabled or leader != NO_LEADER:
        return ()
    if not isr and partition.isr and partition.leader != NO_LEADER:
        return (partition.leader,)
    return partition.last_known_elr

"""Internal topics that are deleted or made by a client while their coordinators are at work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.internal_partitions import partition_for
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol_specs.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.delete_topics import DeleteTopicsRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.offset_fetch import OffsetFetchRequest
from tests.differential.case import case
from tests.differential.cases.describe_configs import describe as describe_configs
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.cases.init_producer_id import await_transactions
from tests.differential.cases.internal_topic_configs import OWN_CLUSTER
from tests.differential.config_requests import TOPIC
from tests.differential.group_requests import (
    NO_DELAY,
    OFFSETS_TOPIC,
    Member,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    join,
    leave,
    list_own_groups,
    stable_one,
    sync,
)
from tests.differential.probe import attempts
from tests.differential.requests import metadata, produce
from tests.differential.transaction_requests import STATE_TOPIC, Transactions, describe, list_own

if TYPE_CHECKING:
    from tests.differential.probe import Probe

FRESH_CLUSTER: Final = (*NO_DELAY, ("offset.metadata.max.bytes", "4001"))
"""A cluster of a case's own, which has no internal topics yet."""
COORDINATED, MADE = 3, 2
"""The partitions that coordinators take an internal topic to have, and those of the topic that the client makes."""


def _delete(probe: Probe, topic: str) -> None:
    probe.exchange(DeleteTopicsRequest(topic_names=[topic], timeout_ms=5_000), 5)
    for _ in attempts(f"{topic} to be gone"):
        described: Any = probe.quiet(metadata(topic), 12)
        if described.topics[0].error_code:
            return


@case(settings=OWN_CLUSTER)
def the_offsets_topic_is_deleted(probe: Probe) -> None:
    topic = probe.topic()
    member = stable_one(probe, group_of(probe))
    member.commit((topic, {0: 5}))
    simple = group_of(probe, "simple")
    probe.exchange(commit(simple, (topic, {0: 5})), 8)
    waiting = Member(probe, group_of(probe, "waiting"))
    waiting.join()
    second = Member(probe, waiting.group)
    second.learn_id()
    parked = probe.park(second.join_request, 9, on=second.connection)
    _delete(probe, OFFSETS_TOPIC)
    probe.finish(parked)
    # Coordinators resign partition by partition.
    for group in (member.group, simple, waiting.group):
        for _ in attempts(f"{group} to be gone"):
            found: Any = probe.quiet(fetch_offsets(group), 7)
            if found.error_code:
                break
    member.heartbeat()
    probe.exchange(sync(member.group, 1, member.id), 5)
    probe.exchange(join(member.group), 9)
    probe.exchange(join(member.group, member_id=member.id), 9)
    probe.exchange(leave(member.group, (member.id, None)), 5)
    probe.exchange(commit(simple, (topic, {0: 5})), 8)
    probe.exchange(fetch_offsets(simple, everything=True), 7)
    probe.exchange(fetch_offsets(simple, everything=True), 8)
    probe.exchange(offset_delete(simple, (topic, [0])), 0)
    probe.exchange(describe_groups(simple, member.group), 5)
    probe.exchange(DeleteGroupsRequest(groups_names=[simple]), 2)
    probe.exchange(txn_commit(simple, topic), 3)
    list_own_groups(probe, 4)
    probe.exchange(FindCoordinatorRequest(key=simple, key_type=0), 2)
    group_of(probe)
    probe.exchange(metadata(OFFSETS_TOPIC), 12)
    probe.exchange(fetch_offsets(simple, everything=True), 7, note="made again")
    list_own_groups(probe, 4)
    member.id = ""
    member.join()
    member.sync({})
    member.commit((topic, {0: 6}))
    probe.exchange(fetch_offsets(member.group, everything=True), 7)


@case(settings=OWN_CLUSTER)
def the_state_topic_is_deleted(probe: Probe) -> None:
    topic = probe.topic()
    opened, ended, begun = (Transactions(probe, name) for name in ("open", "ended", "begun"))
    opened.started((topic, 0))
    ended.started((topic, 0))
    ended.ended(commit=True)
    begun.begin()
    _delete(probe, STATE_TOPIC)
    for _ in attempts("the transactions to be gone"):
        found: Any = probe.quiet(describe(opened.id, ended.id, begun.id), 0)
        if all(each.error_code for each in found.transaction_states):
            break
    for each in (opened, ended, begun):
        each.describe()
        probe.exchange(each.add((topic, 0)), 3)
        probe.exchange(each.add_offsets("g"), 3)
        probe.exchange(each.end(commit=True), 3)
        probe.exchange(each.init(), 4)
    list_own(probe)
    probe.exchange(produce(topic, opened.records(topic), transactional_id=opened.id), 9)
    probe.exchange(produce(topic, begun.records(topic), transactional_id=begun.id), 9)
    probe.exchange(FindCoordinatorRequest(key=opened.id, key_type=1), 2)
    await_transactions(probe)
    probe.exchange(metadata(STATE_TOPIC), 12)
    for each in (opened, ended, begun):
        each.describe("made again")
    list_own(probe)
    opened.begin()
    opened.describe()


@case(settings=FRESH_CLUSTER)
def internal_topics_that_a_client_makes(probe: Probe) -> None:
    for name in (OFFSETS_TOPIC, STATE_TOPIC, "__share_group_state"):
        configs = [CreatableTopicConfig(name="cleanup.policy", value="delete")]
        made = CreatableTopic(name=name, num_partitions=MADE, replication_factor=1, configs=configs)
        probe.exchange(CreateTopicsRequest(topics=[made], timeout_ms=5_000), 5)
        described = probe.await_topic(name, MADE)
        assert described
        probe.exchange(metadata(name), 12)
    topic = probe.topic()
    groups = [f"{probe.name}-g{number}" for number in range(6)]
    for group in groups:
        transactions = Transactions(probe, group[-2:])
        for _ in attempts("the coordinators of both topics to have begun"):
            # The coordinator of transactions never ends to load a topic with another number of partitions.
            offsets: Any = probe.quiet(fetch_offsets(group), 7)
            state: Any = probe.quiet(describe(transactions.id), 0)
            found = offsets.error_code, state.transaction_states[0].error_code
            if found == (
                ErrorCode.NONE if partition_for(group, COORDINATED) < MADE else ErrorCode.NOT_COORDINATOR,
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
                if partition_for(transactions.id, COORDINATED) < MADE
                else ErrorCode.NOT_COORDINATOR,
            ):
                break
        probe.exchange(FindCoordinatorRequest(key=group, key_type=0), 2)
        probe.exchange(commit(group, (topic, {0: 1})), 8)
        probe.exchange(fetch_offsets(group, everything=True), 7)
        probe.exchange(join(group), 3)
        probe.exchange(FindCoordinatorRequest(key=transactions.id, key_type=1), 2)
        probe.exchange(transactions.init(), 4)
        probe.exchange(transactions.add((topic, 0)), 3)
        probe.exchange(transactions.end(commit=True), 3)
        transactions.describe()
    list_own_groups(probe, 4)
    list_own(probe)
    for name in (OFFSETS_TOPIC, STATE_TOPIC):
        probe.exchange(describe_configs((TOPIC, name, ["cleanup.policy", "segment.bytes", "compression.type"])), 4)


@case(settings=OWN_CLUSTER)
def the_state_topic_grows(probe: Probe) -> None:
    """The last cases of the cluster: coordinators keep the number of partitions that they have started with."""
    topic = probe.topic()
    transactions = [Transactions(probe, f"t{number}") for number in range(6)]
    for each in transactions:
        each.started((topic, 0))
    grown = CreatePartitionsTopic(name=STATE_TOPIC, count=7, assignments=None)
    probe.exchange(CreatePartitionsRequest(topics=[grown], timeout_ms=5_000), 3)
    probe.await_topic(STATE_TOPIC, 7)
    for each in transactions:
        each.describe()
        probe.exchange(each.add((topic, 0)), 3)
        probe.exchange(each.end(commit=True), 3)
    newer = Transactions(probe, "newer")
    probe.exchange(newer.init(), 4)
    list_own(probe)


@case(settings=OWN_CLUSTER)
def the_offsets_topic_grows(probe: Probe) -> None:
    topic = probe.topic()
    groups = [group_of(probe, f"g{number}") for number in range(6)]
    for group in groups:
        probe.exchange(commit(group, (topic, {0: 1})), 8)
    grown = CreatePartitionsTopic(name=OFFSETS_TOPIC, count=7, assignments=None)
    probe.exchange(CreatePartitionsRequest(topics=[grown], timeout_ms=5_000), 3)
    probe.await_topic(OFFSETS_TOPIC, 7)
    for group in groups:
        probe.exchange(commit(group, (topic, {0: 2})), 8)
        probe.exchange(fetch_offsets(group, everything=True), 7)
        probe.exchange(join(group, member_id="x"), 5)
        probe.exchange(describe_groups(group), 5)
    request = OffsetFetchRequest(groups=[fetch_offsets(group, everything=True).groups[0] for group in groups])
    probe.exchange(request, 8)
    list_own_groups(probe, 4)
    transactions = Transactions(probe)
    transactions.begin()
    for group in groups:
        probe.exchange(transactions.add_offsets(group), 3)
    transactions.describe()

"""Groups and transactional ids that the client may not use, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from protocol_specs.messages.list_groups import ListGroupsRequest
from protocol_specs.messages.list_transactions import ListTransactionsRequest
from protocol_specs.messages.offset_commit import OffsetCommitRequest
from protocol_specs.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from protocol_specs.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol_specs.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.differential.acl_requests import AUTHORIZER, DENY, OTHER, O, P, T, acl, give, restrict
from tests.differential.case import case
from tests.differential.group_requests import (
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    heartbeat,
    join,
    leave,
    sync,
)
from tests.differential.requests import all_versions, batch, fetch, produce, wanted
from tests.differential.transaction_requests import Transactions, batched, describe, markers

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case(settings=AUTHORIZER)
def members(probe: Probe) -> None:
    group = group_of(probe)
    restrict(probe, T.GROUP, group, allow=(O.DESCRIBE,))
    for request in (join(group), sync(group, 1, "m"), heartbeat(group, 1, "m"), leave(group, member_id="m")):
        for version in all_versions(type(request)):
            probe.exchange(request, version)


@case(settings=AUTHORIZER)
def coordinators(probe: Probe) -> None:
    group = group_of(probe)
    denied = f"{group}-denied"
    restrict(probe, T.GROUP, denied)
    restrict(probe, T.TRANSACTIONAL_ID, denied)
    for key_type in (0, 1):
        for version in all_versions(FindCoordinatorRequest):
            request = FindCoordinatorRequest(key=denied, key_type=key_type, coordinator_keys=[denied])
            probe.exchange(request, version, note=f"type {key_type}")


@case(settings=AUTHORIZER)
def commits(probe: Probe) -> None:
    opened, denied = probe.topic("open"), probe.topic("denied")
    group = group_of(probe)
    closed = f"{group}-closed"
    restrict(probe, T.TOPIC, denied, f"{denied}-none", allow=(O.DESCRIBE,))
    restrict(probe, T.GROUP, closed, allow=(O.DESCRIBE,))
    ids = {topic: probe.topic_id(topic) for topic in (opened, denied)}
    topics = [(denied, {0: 1}), (opened, {0: 1, 5: 1}), (f"{denied}-none", {0: 1})]
    for version in range(2, 10):
        probe.exchange(commit(group, *topics), version, note="an open group")
        probe.exchange(commit(closed, *topics), version, note="a closed group")
    probe.exchange(commit(group, topics[0]), 8, note="the denied topic alone")
    if 10 in all_versions(OffsetCommitRequest):
        probe.exchange(commit(group, *topics[:2], ids=ids), 10, note="by id")


@case(settings=AUTHORIZER)
def committed_offsets(probe: Probe) -> None:
    opened, denied = probe.topic("open"), probe.topic("denied")
    group = group_of(probe)
    closed = f"{group}-closed"
    probe.quiet(commit(group, (opened, {0: 5}), (denied, {0: 6})), 8)
    ids = {topic: probe.topic_id(topic) for topic in (opened, denied)}
    restrict(probe, T.TOPIC, denied, f"{denied}-none")
    restrict(probe, T.GROUP, closed)
    topics = [(denied, [0, 1]), (opened, [0]), (f"{denied}-none", [0])]
    for version in range(1, 10):
        probe.exchange(fetch_offsets(group, *topics), version, note="an open group")
        probe.exchange(fetch_offsets(closed, *topics), version, note="a closed group")
        if version > 1:
            probe.exchange(fetch_offsets(group, everything=True), version, note="everything")
            probe.exchange(fetch_offsets(closed, everything=True), version, note="everything of a closed group")
    if probe.release == "3.7.2":
        for group_id in (group, closed):
            probe.exchange(fetch_offsets(group_id, *topics), 0, note=f"offsets of ZooKeeper, {group_id}")
    groups = [OffsetFetchRequestGroup(group_id=each, topics=None) for each in (closed, group)]
    probe.exchange(OffsetFetchRequest(groups=groups), 8, note="both groups")
    if 10 in all_versions(OffsetFetchRequest):
        probe.exchange(fetch_offsets(group, *topics[:2], ids=ids), 10, note="by id")


@case(settings=AUTHORIZER)
def descriptions(probe: Probe) -> None:
    group = group_of(probe)
    denied = f"{group}-denied"
    topic = probe.topic("t")
    probe.quiet(commit(group, (topic, {0: 5})), 8)
    restrict(probe, T.GROUP, denied)
    for version in range(7):
        probe.exchange(describe_groups(group, denied, include_authorized_operations=True), version)
    give(probe, acl(T.GROUP, group, O.READ), acl(T.GROUP, group, O.ALTER_CONFIGS))
    probe.exchange(describe_groups(group, include_authorized_operations=True), 5, note="READ and ALTER_CONFIGS")


@case(settings=AUTHORIZER)
def lists_of_groups(probe: Probe) -> None:
    group = group_of(probe)
    denied = f"{group}-denied"
    topic = probe.topic("t")
    for each in (group, denied):
        probe.quiet(commit(each, (topic, {0: 5})), 8)
    restrict(probe, T.GROUP, denied)

    def mine(response: dict[str, Any]) -> Any:
        return sorted(each["groupId"] for each in response["groups"] if each["groupId"] in {group, denied})

    probe.exchange(ListGroupsRequest(), 4, only=mine, note="with DESCRIBE on the cluster")


@case(settings=AUTHORIZER)
def deletions(probe: Probe) -> None:
    group = group_of(probe)
    denied = f"{group}-denied"
    topic, other = probe.topic("t"), probe.topic("other")
    probe.quiet(commit(group, (topic, {0: 5}), (other, {0: 5})), 8)
    restrict(probe, T.GROUP, denied, allow=(O.READ,))
    restrict(probe, T.TOPIC, other, allow=(O.DESCRIBE,))
    topics = [
        OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
        for name in (other, topic)
    ]
    for each in (denied, group):
        probe.exchange(OffsetDeleteRequest(group_id=each, topics=topics), 0, note=each)
    for version in all_versions(DeleteGroupsRequest):
        probe.exchange(DeleteGroupsRequest(groups_names=[denied, group, denied]), version)


@case(settings=AUTHORIZER)
def transactional_requests(probe: Probe) -> None:
    topic = probe.topic("t")
    group = group_of(probe)
    allowed = Transactions(probe, "allowed")
    allowed.started((topic, 0))
    denied = Transactions(probe, "denied")
    denied.producer_id, denied.epoch = allowed.producer_id, allowed.epoch
    restrict(probe, T.TRANSACTIONAL_ID, denied.id, allow=(O.DESCRIBE,))
    for request in (denied.init(), denied.add((topic, 0)), denied.add_offsets(group), denied.end(commit=True)):
        for version in range(4):
            probe.exchange(request, version)
    records = denied.records(topic)
    probe.exchange(produce(topic, records, transactional_id=denied.id), 9, note="transactional")
    probe.exchange(produce(topic, records, transactional_id=denied.id, acks=1), 3, note="transactional")
    probe.exchange(produce(topic, batch(b"v"), transactional_id=denied.id), 9, note="not transactional")
    probe.exchange(describe(denied.id, allowed.id), 0)
    restrict(probe, T.TOPIC, topic)
    probe.exchange(describe(allowed.id), 0, note="a hidden topic")
    probe.exchange(allowed.add((topic, 0)), 3, note="a hidden topic")
    probe.exchange(produce(topic, allowed.records(topic), transactional_id=allowed.id), 9, note="a hidden topic")
    probe.exchange(allowed.end(commit=False), 3)


@case(settings=AUTHORIZER)
def partitions_of_transactions(probe: Probe) -> None:
    opened, denied = probe.topic("open"), probe.topic("denied")
    transactions = Transactions(probe, "t")
    transactions.begin()
    restrict(probe, T.TOPIC, denied, f"{denied}-none", allow=(O.DESCRIBE,))
    for version in range(4):
        probe.exchange(transactions.add((denied, 0), (opened, 0)), version, note="both")
        probe.exchange(transactions.add((f"{denied}-none", 0), ("none", 0)), version, note="neither exists")
    probe.exchange(batched(transactions.verify((denied, 0))), 4, note="as a broker")


@case(settings=AUTHORIZER)
def descriptions_of_transactions(probe: Probe) -> None:
    topic = probe.topic("t")
    allowed, denied = Transactions(probe, "allowed"), Transactions(probe, "denied")
    for each in (allowed, denied):
        each.started((topic, 0))
    restrict(probe, T.TRANSACTIONAL_ID, denied.id, f"{denied.id}-none")
    probe.exchange(describe(denied.id, allowed.id, f"{denied.id}-none"), 0)

    def mine(response: dict[str, Any]) -> Any:
        states = response["transactionStates"]
        return sorted(each["transactionalId"] for each in states if each["transactionalId"] in {allowed.id, denied.id})

    probe.exchange(ListTransactionsRequest(), 0, only=mine)


@case(settings=AUTHORIZER)
def offsets_of_transactions(probe: Probe) -> None:
    opened, denied = probe.topic("open"), probe.topic("denied")
    group = group_of(probe)
    transactions = Transactions(probe, "t")
    transactions.begin()
    closed = f"{group}-closed"
    restrict(probe, T.TOPIC, denied, allow=(O.DESCRIBE,))
    restrict(probe, T.GROUP, closed, allow=(O.DESCRIBE,))
    restrict(probe, T.TRANSACTIONAL_ID, f"{transactions.id}-closed")
    for version in range(4):
        probe.exchange(transactions.add_offsets(closed), version, note="a closed group")
    probe.quiet(transactions.add_offsets(group), 3)

    def commits(group_id: str, transactional_id: str, *topics: str) -> TxnOffsetCommitRequest:
        return TxnOffsetCommitRequest(
            transactional_id=transactional_id,
            group_id=group_id,
            producer_id=transactions.producer_id,
            producer_epoch=transactions.epoch,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)],
                )
                for topic in topics
            ],
        )

    for version in range(4):
        probe.exchange(commits(closed, transactions.id, opened), version, note="a closed group")
        probe.exchange(commits(group, f"{transactions.id}-closed", opened), version, note="a closed id")
        probe.exchange(commits(group, transactions.id, denied), version, note="a closed topic")
        probe.exchange(commits(group, transactions.id, denied, opened), version, note="both topics")
    probe.exchange(transactions.end(commit=True), 3)


OWN = (*AUTHORIZER, ("num.io.threads", "6"))
CLUSTER = "kafka-cluster"


@case(settings=OWN)
def idempotent_producers(probe: Probe) -> None:
    topic = probe.topic("t")
    kept = (O.CLUSTER_ACTION, O.ALTER, O.DESCRIBE, O.CREATE)
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)

    def send(note: str) -> None:
        for version in range(5):
            probe.exchange(request, version, note=note, only=lambda response: response["errorCode"])

    first: Any = probe.quiet(request, 4)
    while first.error_code:
        first = probe.quiet(request, 4)
    give(probe, *(acl(T.CLUSTER, CLUSTER, operation) for operation in kept))
    send("no IDEMPOTENT_WRITE, but no entry of a topic")
    give(probe, acl(T.TOPIC, "*", O.READ, principal=OTHER))
    send("READ on all topics for another principal")
    give(probe, acl(T.TOPIC, f"{topic}-", O.WRITE, pattern=P.PREFIXED))
    send("WRITE by prefix")
    give(probe, acl(T.TOPIC, f"{topic}", O.WRITE, pattern=P.PREFIXED, permission=DENY))
    send("a shorter prefix denied")
    give(probe, acl(T.TOPIC, f"other{topic}", O.WRITE))
    send("another topic allowed")
    give(probe, acl(T.TOPIC, f"other{topic}", O.WRITE, permission=DENY))
    send("the other topic denied")
    give(probe, acl(T.TOPIC, "third", O.ALL))
    send("ALL on a third topic")
    give(probe, acl(T.TOPIC, "*", O.WRITE, permission=DENY))
    send("every topic denied")
    give(probe, acl(T.CLUSTER, CLUSTER, O.IDEMPOTENT_WRITE))
    send("IDEMPOTENT_WRITE")
    probe.exchange(markers((first.producer_id, 0, True, {topic: [0]}, 0)), 1, note="markers, with CLUSTER_ACTION")
    probe.exchange(fetch(topic, wanted()), 12, note="a consumer without READ")

"""Requests of each API in each version to groups of every type and state, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.list_groups import ListGroupsRequest
from tests.differential.case import case
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.cases.init_producer_id import await_transactions
from tests.differential.cases.share_state import alter_offsets, delete_offsets, describe_offsets
from tests.differential.cases.streams_group_heartbeat import (
    STREAMS,
    StreamsMember,
    streams_describe,
    streams_heartbeat,
    subtopology,
    topology,
)
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_requests import (
    Member,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    heartbeat,
    join,
    leave,
    list_own_groups,
    stable_one,
    sync,
)
from tests.differential.modern_requests import Consumer, consumer_describe, consumer_heartbeat
from tests.differential.requests import all_versions
from tests.differential.share_requests import SHARE, ShareConsumer, share_describe, share_heartbeat

if TYPE_CHECKING:
    from protocol_specs.message import Message
    from tests.differential.probe import Probe

NEW: Final = ("4.3.1",)
EVERY: Final = (*SHARE, *STREAMS)


def _topic(probe: Probe) -> str:
    return known_topic(probe) if probe.release in NEW else probe.topic()


def _groups(probe: Probe, topic: str) -> dict[str, str]:
    """Return the ids of groups of every type and state that lasts."""
    groups = {name: group_of(probe, name) for name in ("none", "simple", "empty", "completing", "stable", "pending")}
    probe.quiet(commit(groups["simple"], (topic, {0: 1})), 8)
    stable_one(probe, groups["empty"]).leave()
    Member(probe, groups["completing"]).join()
    stable_one(probe, groups["stable"])
    Member(probe, groups["pending"]).learn_id()
    if probe.release == "4.3.1":
        for name in ("consumer", "consumer-left", "share", "share-left", "streams", "streams-left"):
            groups[name] = group_of(probe, name)
        for name in ("consumer", "consumer-left"):
            Consumer(probe, groups[name], "m", topics=[topic], version=1).join()
            ShareConsumer(probe, groups[name.replace("consumer", "share")], "m", [topic]).join()
            streams = groups[name.replace("consumer", "streams")]
            StreamsMember(probe, streams, "m", topology(subtopology("0", topic))).join()
        probe.exchange(consumer_heartbeat(groups["consumer-left"], "m", -1), 1)
        probe.exchange(share_heartbeat(groups["share-left"], "m", -1), 1)
        probe.exchange(streams_heartbeat(groups["streams-left"], "m", -1), 0)
    return groups


def _send(probe: Probe, groups: dict[str, str], make: Any, *, versions: Any = None) -> None:
    for name, group in groups.items():
        request: Message = make(group)
        for version in versions or all_versions(type(request)):
            probe.exchange(request, version, note=name)


@case(settings=EVERY)
def offsets_that_are_committed_and_fetched(probe: Probe) -> None:
    topic = _topic(probe)
    ids = {topic: probe.topic_id(topic)}
    groups = _groups(probe, topic)
    for generation, member in ((-1, ""), (-1, "m"), (1, "m"), (5, "m"), (0, ""), (-2, "m")):
        for version in (1, 8, 9, 10):
            for name, group in groups.items():
                request = commit(group, (topic, {0: version}), generation=generation, member_id=member, ids=ids)
                probe.exchange(request, version, note=f"{name} {generation} {member}")
    for name, group in groups.items():
        for version in (3, 7, 8, 9, 10):
            for member, epoch in ((None, -1), ("m", 1), ("m", 5), ("", 1), ("", -1), ("n", -1)):
                if version < 9 and member is not None:
                    continue
                request = fetch_offsets(group, (topic, [0]), member_id=member, member_epoch=epoch, ids=ids)
                probe.exchange(request, version, note=f"{name} {member} {epoch}")
    await_transactions(probe)
    for name, group in groups.items():
        for generation, member in ((-1, ""), (-1, "m"), (1, "m"), (5, "m"), (0, "")):
            for version in (2, 3, 4, 5):
                if version > 2 or not member:
                    request = txn_commit(group, topic, generation_id=generation, member_id=member)
                    probe.exchange(request, version, note=f"{name} {generation} {member}")


@case(settings=EVERY)
def members_that_are_strangers(probe: Probe) -> None:
    topic = _topic(probe)
    groups = _groups(probe, topic)
    _send(probe, groups, lambda group: heartbeat(group, 1, "x"))
    _send(probe, groups, lambda group: heartbeat(group, -1, ""))
    _send(probe, groups, lambda group: sync(group, 1, "x"))
    _send(probe, groups, lambda group: sync(group, 1, "", protocol_type="x", protocol=None))
    _send(probe, groups, lambda group: leave(group, ("x", None)))
    _send(probe, groups, lambda group: leave(group, ("x", "i"), ("", "i"), ("", None)))
    _send(probe, groups, leave)
    _send(probe, groups, lambda group: join(group, member_id="x"))
    _send(probe, groups, lambda group: join(group, member_id="x", instance="i"), versions=(5, 9))
    _send(probe, groups, lambda group: join(group, member_id="x", protocol_type="other"), versions=(5, 9))
    for epoch in (1, -1, -2, -3):
        _send(probe, groups, lambda group, epoch=epoch: consumer_heartbeat(group, "x", epoch))
        _send(probe, groups, lambda group, epoch=epoch: consumer_heartbeat(group, "x", epoch, instance="i"))
        if probe.release == "4.3.1":
            _send(probe, groups, lambda group, epoch=epoch: share_heartbeat(group, "x", epoch))
            _send(probe, groups, lambda group, epoch=epoch: streams_heartbeat(group, "x", epoch))
            _send(probe, groups, lambda group, epoch=epoch: streams_heartbeat(group, "x", epoch, instance_id="i"))


@case(settings=EVERY)
def groups_that_are_described_and_deleted(probe: Probe) -> None:
    topic = _topic(probe)
    groups = _groups(probe, topic)
    _send(probe, groups, describe_groups)
    _send(probe, groups, lambda group: describe_groups(group, group, include_authorized_operations=True))
    _send(probe, groups, consumer_describe)
    _send(probe, groups, lambda group: consumer_describe(group, group, include_authorized_operations=True))
    if probe.release == "4.3.1":
        _send(probe, groups, share_describe)
        _send(probe, groups, lambda group: share_describe(group, group, include_authorized_operations=True))
        _send(probe, groups, streams_describe)
        _send(probe, groups, lambda group: streams_describe(group, group, include_authorized_operations=True))
        _send(probe, groups, lambda group: describe_offsets((group, {topic: [0]})))
        _send(probe, groups, lambda group: describe_offsets((group, None)))
    for version in all_versions(ListGroupsRequest):
        list_own_groups(probe, version)
        for state in (
            "Empty",
            "Stable",
            "stable",
            "Assigning",
            "Reconciling",
            "PreparingRebalance",
            "NotReady",
            "Dead",
        ):
            list_own_groups(probe, version, states=[state], note=state)
        for kind in ("consumer", "Share", "STREAMS", "classic", "unknown"):
            list_own_groups(probe, version, types=[kind], note=kind)
            list_own_groups(probe, version, types=[kind], states=["stable"], note=kind)
    _send(probe, groups, lambda group: offset_delete(group, (topic, [0, 9]), ("none", [0])))
    if probe.release == "4.3.1":
        _send(probe, groups, lambda group: alter_offsets(group, {topic: {0: 1}}))
        _send(probe, groups, lambda group: delete_offsets(group, topic))
    list_own_groups(probe, 5)
    for version in all_versions(DeleteGroupsRequest):
        probe.exchange(DeleteGroupsRequest(groups_names=list(groups.values())), version)
    list_own_groups(probe, 5)

"""The state of a consumer group, and the checks of offsets and administration."""

from __future__ import annotations

import pytest

from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.consumer.consumer_group import ConsumerGroup, ResolvedRegex
from broker_sim.coordinators.groups.consumer.consumer_member import ClassicProtocolData, ConsumerMember
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
from protocol_specs.error_codes import ErrorCode

T = b"t" * 16
CLASSIC = ClassicProtocolData(1000, (("range", b""), ("roundrobin", b"")))


@pytest.fixture
def registry():
    return SnapshotRegistry()


@pytest.fixture
def group(registry):
    return ConsumerGroup(registry, "g", behaviour=behaviour_of("4.3.1"))


def put(group, member_id="m", **fields):
    group.put_member(ConsumerMember(member_id=member_id, **{"member_epoch": 1, **fields}))


def test_the_state_follows_epochs_and_members(registry, group):
    assert group.state_name() == "Empty"
    put(group)
    registry.snapshot(1)
    assert group.state_name() == "Stable"
    group.group_epoch.set(2)
    assert group.state_name() == "Assigning"
    group.assignment_epoch.set(2)
    assert group.state_name() == "Reconciling"
    assert group.state_name(1) == "Stable"


def test_a_partition_is_free_when_its_last_owner_gives_it_back(group):
    put(group, assigned={T: frozenset({0, 1})})
    put(group, member_epoch=1, assigned={T: frozenset({0})}, pending_revocation={T: frozenset({1})})
    assert not group.is_free(T, 1)
    put(group, member_epoch=2, assigned={T: frozenset({0})})
    assert group.is_free(T, 1)
    put(group, "n", assigned={T: frozenset({1})})
    group.remove_member("m")
    assert group.is_free(T, 0)
    assert not group.is_free(T, 1)


def test_most_members_choose_the_assignor(group):
    put(group, "a", server_assignor="range")
    put(group, "b", server_assignor="uniform")
    put(group, "c", server_assignor="range")
    assert group.preferred_assignor("uniform", 0) == "range"
    assert group.preferred_assignor_with(None, None, "uniform") == "range"
    group.remove_member("a")
    assert group.preferred_assignor_with(group.members["c"], None, "x") == "uniform"
    group.remove_member("b")
    assert group.preferred_assignor_with(group.members["c"], None, "x") == "x"


@pytest.mark.parametrize(
    ("members", "changed", "chosen"),
    [
        ({"a": "uniform"}, {"b": "range"}, "range"),
        ({"a": "range"}, {"b": "uniform"}, "uniform"),
        ({"a": "range", "b": "uniform"}, {"a": "range"}, "range"),
        ({"a": "range", "b": "uniform"}, {"b": "uniform"}, "uniform"),
        ({"a": "range", "b": "uniform"}, {"c": None}, "uniform"),
    ],
)
def test_of_as_many_votes_that_of_the_changed_member_counts(group, members, changed, chosen):
    for member_id, assignor in members.items():
        put(group, member_id, server_assignor=assignor)
    ((member_id, assignor),) = changed.items()
    old = group.members.get(member_id)
    new = ConsumerMember(member_id=member_id, server_assignor=assignor)
    assert group.preferred_assignor_with(old, new, "x") == chosen


def test_expressions_add_their_topics(group):
    put(group, subscribed_topic_names=frozenset({"b"}), subscribed_topic_regex="a.*")
    group.regexes["a.*"] = ResolvedRegex(frozenset({"a1"}), 1, 1)
    assert sorted(group.topics_of(group.members["m"])) == ["a1", "b"]
    assert group.is_subscribed_to("a1")
    assert not group.has_homogeneous({"b": 1}, {"a.*": 1}, 1)
    assert group.has_homogeneous({}, {"a.*": 1}, 1)
    assert not group.has_homogeneous({}, {"a.*": 1}, 2)


def test_classic_members_support_common_protocols(group):
    put(group, "a", classic=CLASSIC)
    put(group, "b", classic=ClassicProtocolData(1000, (("range", b""),)))
    put(group, "c")
    assert group.supports_classic_protocols("consumer", ["roundrobin", "range"])
    assert not group.supports_classic_protocols("consumer", ["roundrobin"])
    assert not group.supports_classic_protocols("connect", ["range"])
    assert group.all_use_classic_protocol_except("c")
    assert not group.all_use_classic_protocol_except("a")


def commit(group, epoch, *, member_id="m", version=9, transactional=False):
    try:
        check = group.check_offset_commit(
            member_id=member_id,
            group_instance_id=None,
            member_epoch=epoch,
            transactional=transactional,
            api_version=version,
        )
        if check is not None:
            check("t", T, 0)
    except CoordinatorError as error:
        return error.error_code
    return ErrorCode.NONE


def test_only_a_member_at_its_epoch_commits(group):
    assert commit(group, -1) is ErrorCode.NONE
    put(group, member_epoch=3)
    assert commit(group, 3) is ErrorCode.NONE
    assert commit(group, 2) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(group, -1, member_id="") is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(group, 3, version=8) is ErrorCode.UNSUPPORTED_VERSION
    assert commit(group, 3, version=3, transactional=True) is ErrorCode.NONE


@pytest.mark.parametrize(("since", "error"), [(2, ErrorCode.NONE), (3, ErrorCode.STALE_MEMBER_EPOCH)])
def test_an_earlier_epoch_commits_partitions_that_the_member_has_since_then(group, since, error):
    put(group, member_epoch=3, assigned={T: frozenset({0})}, assignment_epochs={(T, 0): since})
    assert commit(group, 2) is error


def test_a_classic_member_commits_with_its_generation(group):
    put(group, member_epoch=3, classic=CLASSIC)
    assert commit(group, 3, version=8) is ErrorCode.NONE
    assert commit(group, 2, version=8) is ErrorCode.ILLEGAL_GENERATION


def test_offsets_are_fetched_by_members_or_by_anyone_without_an_id(registry, group):
    put(group, member_epoch=3)
    registry.snapshot(1)
    group.check_offset_fetch(member_id=None, member_epoch=-1, committed_offset=1)
    group.check_offset_fetch(member_id="m", member_epoch=3, committed_offset=1)
    for member_id, epoch, error in (("x", 3, "UNKNOWN_MEMBER_ID"), ("m", 4, "STALE_MEMBER_EPOCH")):
        with pytest.raises(CoordinatorError, match=error):
            group.check_offset_fetch(member_id=member_id, member_epoch=epoch, committed_offset=1)


def test_only_an_empty_group_is_deleted(group):
    group.check_delete()
    put(group)
    with pytest.raises(CoordinatorError, match="NON_EMPTY_GROUP"):
        group.check_delete()


def test_an_expression_that_is_resolved_still_makes_a_group_heterogeneous(group):
    put(group, "m1", subscribed_topic_regex="a.*")
    group.regexes["a.*"] = ResolvedRegex(frozenset({"a1", "a2"}), 1, 1)
    assert group.is_homogeneous
    put(group, "m2", subscribed_topic_regex="a1")
    group.regexes["a1"] = ResolvedRegex(frozenset({"a1"}), 1, 1)
    assert not group.is_homogeneous
    group.remove_member("m2")
    assert not group.is_homogeneous, "the record of the expression is deleted after that of its last member"
    group.regexes.pop("a1")
    assert not group.is_homogeneous, "as when the last member changed"
    put(group, "m1", subscribed_topic_regex="a.*", rack_id="r")
    assert group.is_homogeneous

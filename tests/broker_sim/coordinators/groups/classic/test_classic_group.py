from unittest.mock import create_autospec

import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup, GroupServices
from broker_sim.coordinators.groups.classic.classic_group_state import ClassicGroupState
from broker_sim.coordinators.groups.classic.classic_member import ClassicMember
from broker_sim.coordinators.groups.classic.parked_response import ParkedResponse
from broker_sim.coordinators.groups.group import GroupType
from broker_sim.coordinators.groups.group_journal import GroupJournal
from protocol_specs.error_codes import ErrorCode
from tests.broker_sim.coordinators.groups.classic.group_bench import subscription

EMPTY = ClassicGroupState.EMPTY
PREPARING = ClassicGroupState.PREPARING_REBALANCE
COMPLETING = ClassicGroupState.COMPLETING_REBALANCE
STABLE = ClassicGroupState.STABLE
DEAD = ClassicGroupState.DEAD


@pytest.fixture
def restarted():
    return []


@pytest.fixture
def make_group(restarted):
    def make(*members, state=EMPTY, old_coordinator=False, protocol_type="consumer"):
        services = GroupServices(
            now_ms=lambda: 1_000,
            restart_session=lambda _, member: restarted.append(member.member_id),
            old_coordinator=old_coordinator,
            journal=create_autospec(GroupJournal, instance=True),
        )
        group = ClassicGroup("crew", services, state=state, generation_id=1, protocol_name="range")
        for name in members:
            group.add(member(name, protocol_type=protocol_type))
        group.topics = group.compute_topics()
        return group

    return make


def member(name, *, protocol_type="consumer"):
    return ClassicMember(
        name,
        group_instance_id=name if name.startswith("static") else None,
        client_id="ann",
        client_host="/127.0.0.1",
        rebalance_timeout_ms=len(name),
        session_timeout_ms=1,
        protocol_type=protocol_type,
        protocols=(("range", subscription("t")),),
    )


def refusal(check, **fields):
    try:
        check(**fields)
    except CoordinatorError as error:
        return error.error_code
    return ErrorCode.NONE


def commit(group, member_id="", instance=None, epoch=-1, *, transactional=False):
    return refusal(
        group.check_offset_commit,
        member_id=member_id,
        group_instance_id=instance,
        member_epoch=epoch,
        transactional=transactional,
        api_version=9,
    )


def test_a_group_without_members_is_empty_and_classic(make_group):
    group = make_group()
    assert (group.type, group.state_name(), group.protocol_type()) == (GroupType.CLASSIC, "Empty", "")
    assert group.is_empty()
    assert group.is_simple


def test_commits_without_a_generation_need_an_empty_group(make_group):
    assert commit(make_group()) == ErrorCode.NONE
    assert commit(make_group("ann"), "ann") == ErrorCode.NONE
    assert commit(make_group("ann", state=STABLE)) == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(make_group(state=DEAD)) == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_commits_with_a_generation_are_checked(make_group):
    group = make_group("ann", "static-1", state=STABLE)
    assert commit(group, "ann", epoch=1) == ErrorCode.NONE
    assert commit(group, "bob", epoch=1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(group, "ann", epoch=2) == ErrorCode.ILLEGAL_GENERATION
    assert commit(group, "ann", "static-1", 1) == ErrorCode.FENCED_INSTANCE_ID
    assert commit(group, "ann", "static-2", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(make_group("ann", state=COMPLETING), "ann", epoch=1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_transactional_commits_do_not_depend_on_the_state(make_group):
    assert commit(make_group("ann", state=STABLE), transactional=True) == ErrorCode.NONE
    assert commit(make_group("ann", state=COMPLETING), "ann", epoch=1, transactional=True) == ErrorCode.NONE


def test_only_an_empty_group_is_deleted(make_group):
    assert refusal(make_group().check_delete) == ErrorCode.NONE
    assert refusal(make_group("ann", state=STABLE).check_delete) == ErrorCode.NON_EMPTY_GROUP
    assert refusal(make_group(state=DEAD).check_delete) == ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_of_consumers_are_deleted_while_the_group_lives(make_group):
    assert refusal(make_group("ann", state=STABLE).check_offset_delete) == ErrorCode.NONE
    connect = make_group("ann", state=STABLE, protocol_type="connect")
    assert refusal(connect.check_offset_delete) == ErrorCode.NON_EMPTY_GROUP


def test_the_retention_of_offsets_counts_from_the_empty_state(make_group):
    assert make_group().expiry_base_ms(5) == 5
    consumers = make_group("ann")
    assert consumers.expiry_base_ms(5) == 1_000
    consumers.state_timestamp_ms = None
    assert consumers.expiry_base_ms(5) == 5
    assert make_group("ann", state=STABLE).expiry_base_ms(5) == 5
    assert make_group("ann", state=PREPARING).expiry_base_ms(5) is None
    assert make_group("ann", state=STABLE, protocol_type="connect").expiry_base_ms(5) is None


def test_subscribed_topics_keep_their_offsets(make_group):
    group = make_group("ann", state=STABLE)
    assert (group.is_subscribed_to("t"), group.is_subscribed_to("u")) == (True, False)
    group.topics = None
    assert group.is_subscribed_to("u")
    assert not make_group("ann", protocol_type="connect").is_subscribed_to("u")
    unknown = make_group("ann", protocol_type="connect", old_coordinator=True, state=STABLE)
    assert unknown.is_subscribed_to("u")
    unknown.state = EMPTY
    assert not unknown.is_subscribed_to("u")


def test_a_commit_restarts_the_session_of_a_member(make_group, restarted):
    make_group("ann", state=STABLE).commit_received("ann")
    make_group("bob", state=COMPLETING).commit_received("bob")
    make_group("cy", state=STABLE).commit_received("dan")
    assert restarted == ["ann"]


def test_the_first_member_leads_until_it_leaves(make_group):
    group = make_group("ann", "bob")
    assert group.leader_id == "ann"
    group.remove("ann", "it left")
    assert group.leader_id == "bob"
    group.remove("bob", "it left")
    assert group.leader_id is None


def test_the_next_leader_is_the_first_of_a_hash_table(make_group):
    group = make_group("ann", "cy", "bob")
    group.remove("ann", "it left")
    assert group.leader_id == "bob"


def test_of_the_members_that_have_joined_the_first_of_a_hash_table_leads(make_group):
    group = make_group("ann")
    assert not make_group("ann", "cy").elect_joined_leader()
    for name in ("cy", "bob"):
        group.add(member(name), create_autospec(ParkedResponse, instance=True))
    assert group.elect_joined_leader()
    assert group.leader_id == "bob"


def test_the_longest_rebalance_timeout_counts(make_group):
    assert make_group("ann", "static-1", "bob").rebalance_timeout_ms == len("static-1")


def test_a_static_member_keeps_its_place_and_its_leadership(make_group):
    group = make_group("static-1", "ann")
    group.replace_static_member("static-1", "static-1", "new")
    assert (group.leader_id, group.static_member_id("static-1")) == ("new", "new")
    assert refusal(group.check_member, member_id="static-1", group_instance_id="static-1") == (
        ErrorCode.FENCED_INSTANCE_ID
    )


def test_a_tombstone_deletes_a_group_unless_the_old_coordinator_never_wrote_it(make_group):
    assert [record.value for record in make_group().tombstones()] == [None]
    never_written = make_group(old_coordinator=True)
    assert len(never_written.tombstones()) == 1
    never_written.generation_id = 0
    assert never_written.tombstones() == []

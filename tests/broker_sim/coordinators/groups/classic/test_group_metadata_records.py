import pytest

from broker_sim.coordinators.groups.classic.group_metadata_records import (
    empty_group_record,
    group_record,
    group_tombstone,
)
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord, Log


def stored(record):
    return CoordinatorRecord.decode(Log.CONSUMER_OFFSETS, *record.encode())


@pytest.mark.parametrize(
    ("version", "rebalance_ms", "instance"), [(0, -1, None), (1, 20_000, None), (3, 20_000, "one")]
)
def test_a_record_has_the_fields_of_its_version(bench, version, rebalance_ms, instance):
    crew = bench()
    crew.stable(1, instances=["one"])
    member_id = next(iter(crew.group.members))
    record = stored(group_record(crew.group, {member_id: b"theirs"}, version))
    assert (record.key.group, record.version) == ("crew", version)
    assert (record.value.protocol_type, record.value.protocol, record.value.generation) == ("consumer", "range", 1)
    [member] = record.value.members
    assert (member.member_id, member.assignment) == (member_id, b"theirs")
    assert (member.rebalance_timeout, member.group_instance_id) == (rebalance_ms, instance)
    assert (member.client_id, member.client_host) == ("ann", "/127.0.0.1")


def test_a_created_group_has_a_record_without_members(bench):
    crew = bench()
    crew.join()
    record = stored(empty_group_record(crew.group, 3))
    assert (record.value.protocol_type, record.value.protocol, record.value.leader) == ("", None, None)
    assert (record.value.generation, record.value.members) == (0, [])
    assert record.value.current_state_timestamp == crew.group.state_timestamp_ms


def test_a_tombstone_has_no_value():
    record = stored(group_tombstone("crew"))
    assert (record.key.group, record.value) == ("crew", None)

import pytest

from broker_sim.coordinators.groups.classic.classic_member import ClassicMember
from broker_sim.coordinators.groups.classic.parked_response import ParkedResponse


def member(*protocols):
    return ClassicMember(
        "ann-1",
        group_instance_id=None,
        client_id="ann",
        client_host="/127.0.0.1",
        rebalance_timeout_ms=1,
        session_timeout_ms=1,
        protocol_type="consumer",
        protocols=tuple((name, name.encode()) for name in protocols),
    )


def test_a_member_votes_for_the_first_of_its_protocols_that_is_a_candidate():
    assert member("sticky", "range", "roundrobin").vote({"roundrobin", "range"}) == "range"


def test_a_member_without_a_candidate_cannot_vote():
    assert member("sticky").vote({"range"}) is None


def test_metadata_is_that_of_the_named_protocol():
    ann = member("sticky", "range")
    assert ann.metadata("range") == b"range"
    with pytest.raises(LookupError):
        ann.metadata("roundrobin")


def test_a_parked_request_keeps_a_session_unless_the_member_is_new():
    ann = member("range")
    assert not ann.has_satisfied_heartbeat
    ann.awaiting_join = ParkedResponse()
    assert ann.has_satisfied_heartbeat
    ann.is_new = True
    assert not ann.has_satisfied_heartbeat

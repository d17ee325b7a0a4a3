import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.protocol_votes import ProtocolCounts, most_voted
from tests.broker_sim.coordinators.groups.classic.test_classic_member import member


def elected(*members, old_coordinator=False):
    candidates = frozenset(name for name, _ in members[0].protocols)
    return most_voted(members, candidates, old_coordinator=old_coordinator)


def test_the_protocol_with_the_most_votes_wins():
    assert elected(member("b", "a"), member("a", "b"), member("b", "a")) == "b"


def test_a_draw_goes_to_the_first_of_the_hash_table():
    drawn = [member("range", "sticky"), member("sticky", "range")]
    assert elected(*drawn) == elected(*reversed(drawn)) == "sticky"


def test_the_old_coordinator_has_another_hash_table():
    names = ["alpha", "beta", "gamma", "delta", "range", "sticky", "roundrobin", "cooperative-sticky"]
    differ = [
        (one, other)
        for one in names
        for other in names
        if one < other
        and elected(member(one, other), member(other, one))
        != elected(member(one, other), member(other, one), old_coordinator=True)
    ]
    assert differ


def test_members_that_offer_a_protocol_twice_cannot_vote(bench):
    with pytest.raises(CoordinatorError, match="UNKNOWN_SERVER_ERROR"):
        most_voted([member("a", "a")], frozenset(), old_coordinator=False)
    crew = bench()
    parked = crew.new_member(protocols=[("a", b"1"), ("a", b"2")])
    crew.run(1_000)
    assert parked.response is None


def test_protocols_that_all_members_support_are_candidates():
    counts = ProtocolCounts()
    counts.add(member("a", "b"))
    counts.add(member("b", "c"))
    assert counts.supported_by(2) == {"b"}
    counts.remove(member("a", "b"))
    assert counts.supported_by(1) == {"b", "c"}


def test_a_protocol_that_one_member_offers_twice_is_no_candidate():
    counts = ProtocolCounts()
    counts.add(member("a", "a"))
    assert counts.supported_by(1) == frozenset()

import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.subscribed_topics import subscribed_topics
from tests.broker_sim.coordinators.groups.classic.group_bench import subscription


def test_the_topics_of_all_members_count():
    assert subscribed_topics([subscription("a", "b"), subscription("b", "c")]) == {"a", "b", "c"}


def test_a_newer_version_has_the_topics_first():
    newer = b"\0\3" + subscription("a")[2:] + b"what later versions add"
    assert subscribed_topics([newer]) == {"a"}


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\0\0", subscription("t")[:-1], b"\0\0\0\0\0\2\0\1t"])
def test_metadata_that_end_within_a_number_leave_the_topics_unknown(metadata):
    assert subscribed_topics([subscription("a"), metadata]) is None


@pytest.mark.parametrize(
    "metadata",
    [
        b"\0\1\xff\xff\xff\xff",
        b"\0\0\0\0\0\1\xff\xff",
        b"\0\0\0\0\0\1\0\1",
        b"garbage",
        subscription()[:6] + b"\0\0\0\1",
    ],
)
def test_a_wrong_size_fails_the_operation(metadata):
    with pytest.raises(CoordinatorError, match="UNKNOWN_SERVER_ERROR"):
        subscribed_topics([metadata])


def test_a_group_whose_metadata_cannot_be_read_stays_in_its_join_phase(bench):
    crew = bench()
    parked = crew.new_member(protocols=[("range", b"garbage")])
    crew.run(1_000)
    assert parked.response is None
    assert crew.states()[0] == "PreparingRebalance"

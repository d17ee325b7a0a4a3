import pytest

from broker_sim.coordinators.groups.classic.subscribed_topics import subscribed_topics
from tests.broker_sim.coordinators.groups.classic.group_bench import subscription


def test_the_topics_of_all_members_count():
    assert subscribed_topics([subscription("a", "b"), subscription("b", "c")]) == {"a", "b", "c"}


def test_a_newer_version_has_the_topics_first():
    newer = b"\0\3" + subscription("a")[2:] + b"what later versions add"
    assert subscribed_topics([newer]) == {"a"}


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\0\0", subscription("orders")[:-5]])
def test_metadata_that_end_early_leave_the_topics_unknown(metadata):
    assert subscribed_topics([subscription("a"), metadata]) is None

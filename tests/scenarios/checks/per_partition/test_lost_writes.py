from broker_scenarios.checks.per_partition.lost_writes import lost_writes
from broker_scenarios.checks.per_partition.set_losses import set_losses


def test_an_acknowledged_record_in_no_log_is_lost(story, values_found):
    story.acked(1, 2, 3).log(1, 2)
    assert values_found(lost_writes, story) == [3]


def test_a_record_acknowledged_without_offset_is_lost_from_the_set(story, values_found):
    story.send(1, 2).ok(1).ok(2).log(1)
    assert values_found(lost_writes, story) == []
    assert values_found(set_losses, story) == [2]


def test_a_truncated_record_is_lost(story, values_found):
    story.acked(1, 2).log(1).truncated(2, first_offset=1)
    assert values_found(lost_writes, story) == [2]


def test_a_truncated_record_that_a_retry_stored_again_is_not_lost(story, values_found):
    story.acked(1, 2).log(1).truncated(2, first_offset=1).log(2, first_offset=5)
    assert values_found(lost_writes, story) == []


def test_a_record_that_was_never_acknowledged_is_not_lost(story, values_found):
    story.acked(1).log(1).send(2).info(2).send(3).fail(3).send(4)
    assert values_found(lost_writes, story) == []

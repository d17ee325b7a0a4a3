from broker_scenarios.checks.per_partition.failed_but_stored import failed_but_stored
from broker_scenarios.checks.per_partition.recovered import recovered


def test_a_record_that_certainly_failed_and_is_stored_is_found(story, values_found):
    story.acked(1).send(2).fail(2).log(1, 2)
    assert values_found(failed_but_stored, story) == [2]


def test_a_timeout_is_not_a_failure(story, values_found):
    story.acked(1).send(2).info(2).log(1, 2)
    assert values_found(failed_but_stored, story) == []
    assert values_found(recovered, story) == [2]


def test_a_failure_that_the_application_sent_again_is_no_contradiction(story, values_found):
    story.send(1).fail(1).send(1).ok(1, 0).log(1)
    assert values_found(failed_but_stored, story) == []
    assert values_found(recovered, story) == []


def test_a_failure_that_a_replica_once_held_and_truncated_is_not_stored(story, values_found):
    story.send(1).fail(1).truncated(1, first_offset=0)
    assert values_found(failed_but_stored, story) == []

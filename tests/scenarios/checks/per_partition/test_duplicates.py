from broker_scenarios.checks.per_partition.duplicates import duplicates
from broker_scenarios.findings import Cause


def test_one_send_at_two_offsets_is_a_duplicate_by_retry(story):
    story.acked(1, 2).log(1, 2, 1)
    (finding,) = duplicates(story.analysis())
    assert (finding.value_id, finding.cause, finding.offset) == (1, Cause.RETRY, 2)


def test_a_value_that_the_application_sent_twice_is_its_own_doing(story):
    story.send(1).info(1).send(1).ok(1, 1).log(1, 1)
    (finding,) = duplicates(story.analysis())
    assert finding.cause is Cause.APPLICATION_RESEND


def test_a_third_copy_of_a_value_sent_twice_is_a_retry(story):
    story.send(1).info(1).send(1).ok(1, 1).log(1, 1, 1)
    (finding,) = duplicates(story.analysis())
    assert finding.cause is Cause.RETRY


def test_a_copy_that_was_truncated_is_no_duplicate(story, values_found):
    story.acked(1, first_offset=7).truncated(1, first_offset=3).log(1, first_offset=7)
    assert values_found(duplicates, story) == []

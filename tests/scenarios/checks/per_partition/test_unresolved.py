from broker_scenarios.checks.per_partition.double_completions import double_completions
from broker_scenarios.checks.per_partition.unresolved import unresolved


def test_a_send_without_a_report_is_unresolved(story, values_found):
    story.acked(1).send(2).log(1, 2)
    # Only the log knows the partition of a send without completion.
    assert values_found(unresolved, story) == [2]


def test_a_send_of_unknown_outcome_is_resolved(story, values_found):
    story.acked(1).log(1).send(2).info(2).send(3).fail(3)
    assert values_found(unresolved, story) == []


def test_a_send_reported_twice_is_found(story):
    story.send(1).info(1).ok(1, 0).log(1)
    (finding,) = double_completions(story.analysis())
    assert finding.detail == "send 0 of process 1 was reported info, then ok"


def test_a_value_sent_twice_is_reported_twice_by_right(story, values_found):
    story.send(1).info(1).send(1).ok(1, 0).log(1)
    assert values_found(double_completions, story) == []

from broker_scenarios.checks.per_partition.inconsistent_offsets import inconsistent_offsets
from broker_scenarios.findings import Cause


def test_two_values_at_one_acknowledged_offset_contradict(story):
    story.send(1, 2).ok(1, 0).ok(2, 0).log(1)
    (finding,) = inconsistent_offsets(story.analysis())
    assert (finding.value_id, finding.other_value_id, finding.cause) == (2, 1, Cause.UNEXPLAINED)


def test_an_offset_assigned_again_after_a_truncation_has_that_cause(story):
    story.send(1).ok(1, 0).truncated(1, first_offset=0).send(2).ok(2, 0).log(2)
    (finding,) = inconsistent_offsets(story.analysis())
    assert finding.cause is Cause.TRUNCATED


def test_one_value_acknowledged_twice_at_its_offset_agrees(story, values_found):
    story.send(1).ok(1, 0).send(1).ok(1, 0).log(1)
    assert values_found(inconsistent_offsets, story) == []


def test_acknowledgements_without_offset_share_none(story, values_found):
    story.send(1, 2).ok(1).ok(2).log(1, 2)
    assert values_found(inconsistent_offsets, story) == []

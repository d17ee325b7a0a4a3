from broker_scenarios.checks.per_partition.wrong_offsets import wrong_offsets


def test_an_acknowledged_offset_at_which_the_record_never_was_is_wrong(story, values_found):
    story.send(1, 2).ok(1, 0).ok(2, 0).log(1, 2)
    assert values_found(wrong_offsets, story) == [2]


def test_the_offset_of_any_copy_is_right(story, values_found):
    story.send(1).ok(1, 1).log(1, 1)
    assert values_found(wrong_offsets, story) == []


def test_the_offset_of_a_copy_truncated_later_was_right(story, values_found):
    story.send(1).ok(1, 0).truncated(1, first_offset=0).log(1, first_offset=4)
    assert values_found(wrong_offsets, story) == []


def test_an_acknowledgement_without_offset_claims_nothing(story, values_found):
    story.send(1).ok(1).log(1, first_offset=4)
    assert values_found(wrong_offsets, story) == []

from hypothesis import given
from hypothesis import strategies as st

from broker_scenarios.checks.reordering import fewest_out_of_order, reordering


def test_a_later_send_ahead_of_an_earlier_one_is_reordered(story, values_found):
    story.send(1, 2, 3).ok(2, 0).ok(3, 1).ok(1, 2).log(2, 3, 1)
    assert values_found(reordering, story) == [1]


def test_two_clients_may_interleave_as_they_like(story, values_found):
    story.send(1, 2).send(11, 12, process=2).log(11, 1, 12, 2).ok(1, 1).ok(2, 3).ok(11, 0).ok(12, 2)
    assert values_found(reordering, story) == []


def test_a_second_copy_behind_later_records_is_a_duplicate_and_not_reordered(story, values_found):
    story.send(1, 2).ok(1, 0).ok(2, 1).log(1, 2, 1)
    assert values_found(reordering, story) == []


def test_gaps_of_lost_records_and_of_offsets_keep_the_order(story, values_found):
    story.acked(1, 2, 3).log(1).log(3, first_offset=9)
    assert values_found(reordering, story) == []


def test_a_send_of_unknown_outcome_counts(story, values_found):
    story.send(1, 2).info(1).ok(2, 0).log(2, 1)
    assert values_found(reordering, story) == [1]


def test_a_value_that_the_application_sent_again_has_no_place_in_the_order(story, values_found):
    story.send(5, 6).info(5).ok(6, 0).send(5, process=2).ok(5, 1).log(6, 5)
    assert values_found(reordering, story) == []


def test_the_finding_names_a_record_on_the_other_side(story):
    story.send(1, 2, 3).ok(2, 0).ok(3, 1).ok(1, 2).log(2, 3, 1)
    (finding,) = reordering(story.analysis())
    assert finding.other_value_id == 2
    assert finding.detail == "send 0 of process 1 is stored at offset 2, behind its send 1 at offset 0"


@given(st.permutations(list(range(7))))
def test_what_is_left_ascends_and_no_smaller_set_would_do(offsets):
    out = fewest_out_of_order(offsets)
    kept = [offset for position, offset in enumerate(offsets) if position not in out]
    assert kept == sorted(kept)
    assert len(kept) == _longest_ascending(offsets)


def _longest_ascending(offsets):
    best = [1] * len(offsets)
    for at, offset in enumerate(offsets):
        best[at] = 1 + max((best[before] for before in range(at) if offsets[before] < offset), default=0)
    return max(best)

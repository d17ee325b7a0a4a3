import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_scenarios.checks.per_process.nonmonotonic_sends import fewest_out_of_order, nonmonotonic_sends
from broker_scenarios.findings import Cause


def test_a_later_send_ahead_of_an_earlier_one_is_reordered(story, values_found):
    story.send(1, 2, 3).ok(2, 0).ok(3, 1).ok(1, 2).log(2, 3, 1)
    assert values_found(nonmonotonic_sends, story) == [1]


def test_two_clients_may_interleave_as_they_like(story, values_found):
    story.send(1, 2).send(11, 12, process=2).log(11, 1, 12, 2).ok(1, 1).ok(2, 3).ok(11, 0).ok(12, 2)
    assert values_found(nonmonotonic_sends, story) == []


def test_a_second_copy_behind_later_records_is_a_duplicate_and_not_reordered(story, values_found):
    story.send(1, 2).ok(1, 0).ok(2, 1).log(1, 2, 1)
    assert values_found(nonmonotonic_sends, story) == []


def test_gaps_of_lost_records_and_of_offsets_keep_the_order(story, values_found):
    story.acked(1, 2, 3).log(1).log(3, first_offset=9)
    assert values_found(nonmonotonic_sends, story) == []


def test_a_send_of_unknown_outcome_counts(story, values_found):
    story.send(1, 2).info(1).ok(2, 0).log(2, 1)
    assert values_found(nonmonotonic_sends, story) == [1]


def test_a_value_that_the_application_sent_again_has_no_place_in_the_order(story, values_found):
    story.send(5, 6).info(5).ok(6, 0).send(5, process=2).ok(5, 1).log(6, 5)
    assert values_found(nonmonotonic_sends, story) == []


def test_records_on_the_way_at_the_same_time_may_have_overtaken_each_other(story):
    story.send(1, 2).ok(2, 0).ok(1, 1).log(2, 1)
    assert [finding.cause for finding in nonmonotonic_sends(story.analysis())] == [Cause.PIPELINED]


def test_the_finding_names_a_record_on_the_other_side(story):
    story.send(1, 2, 3).ok(2, 0).ok(3, 1).ok(1, 2).log(2, 3, 1)
    (finding,) = nonmonotonic_sends(story.analysis())
    assert finding.other_value_id == 2
    assert finding.detail == "send 0 of process 1 is stored at offset 2, behind its send 1 at offset 0"


@pytest.mark.parametrize(
    ("outcomes", "log", "causes"),
    [
        # A send that was given up, appended behind a later one: the later send may be the one that moved.
        ({1: "info", 2: "ok"}, (2, 1), [Cause.LATE_APPEND]),
        ({1: "info", 2: "info", 3: "ok"}, (3, 1, 2), [Cause.LATE_APPEND]),
        # Two sends that the client knows to be stored.
        ({1: "ok", 2: "ok"}, (2, 1), [Cause.UNEXPLAINED]),
        ({1: "ok", 2: "info", 3: "ok"}, (3, 1, 2), [Cause.UNEXPLAINED]),
        ({1: "ok", 2: "info", 3: "ok", 4: "ok"}, (3, 4, 1, 2), [Cause.UNEXPLAINED]),
        # The last one is no step down, and still behind the first one.
        ({1: "ok", 2: "info", 3: "ok"}, (2, 3, 1), [Cause.UNEXPLAINED]),
    ],
)
def test_a_late_append_differs_from_two_acknowledged_records_in_the_wrong_order(story, outcomes, log, causes):
    for value, outcome in outcomes.items():
        story.send(value)
        getattr(story, outcome)(value)
    assert [finding.cause for finding in nonmonotonic_sends(story.log(*log).analysis())] == causes


def test_the_worst_cause_of_a_run_is_that_of_its_finding(story):
    # The first record is still on the way when the second one is sent, and known to be stored before the third one.
    story.send(1, 2).ok(1, 2).info(2).send(3).ok(3, 1).log(2, 3, 1)
    assert [finding.cause for finding in nonmonotonic_sends(story.analysis())] == [Cause.UNEXPLAINED]


def test_a_record_ahead_of_all_others_has_no_cause(story):
    story.send(1, 2).ok(2, 0).ok(1, 1).send(3).ok(3, 2).log(2, 1, 3)
    assert [finding.cause for finding in nonmonotonic_sends(story.analysis())] == [Cause.PIPELINED]


def test_a_record_whose_acknowledgement_comes_as_the_next_one_is_sent_is_known_to_be_stored(story):
    story.send(1).ok(1, 1).wait(us=-1_000).send(2).ok(2, 0).log(2, 1)
    assert [finding.cause for finding in nonmonotonic_sends(story.analysis())] == [Cause.UNEXPLAINED]


def test_equal_elements_do_not_ascend():
    assert fewest_out_of_order([1, 1]) == [0]


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

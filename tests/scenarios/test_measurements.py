from dataclasses import replace

from broker_scenarios.checks.partition_check import check_all
from broker_scenarios.findings import Outcome
from broker_scenarios.journal_view import JournalView
from broker_scenarios.measurements import measure


def measured(story, events=(), end_us=None):
    records = check_all(story.history(), story.logs()).records
    return measure(records, JournalView.of(events), end_us=end_us or story.now_us)


def test_latency_is_the_time_from_a_send_to_its_acknowledgement(story):
    story.acked(*range(98))
    story.send(98, 99).ok(99).ok(98)
    latency = measured(story).latency
    assert (latency.p50_ms, latency.p99_ms, latency.max_ms) == (1.0, 3.0, 3.0)


def test_a_result_that_stands_for_several_records_counts_as_they_do(story):
    story.acked(*range(60)).send(60, 61).fail(61).ok(60)
    records = check_all(story.history(), story.logs()).records
    repeated = [record for record in records for _ in range(3)]
    counted = [replace(record, count=3) for record in records]
    several, one_each = (measure(each, JournalView.of(()), end_us=story.now_us) for each in (counted, repeated))
    assert several == one_each
    assert several.errors[0].count == 3


def test_a_run_without_acknowledgements_has_no_latency_and_no_pause(story):
    figures = measured(story.send(1).fail(1), end_us=9_000_000)
    assert (figures.latency, figures.pauses) == (None, [])


def test_errors_are_grouped_by_partition_outcome_and_error_with_the_first_example(story):
    story.send(1, 2, 3).info(1).fail(2).fail(3).send(4, partition=1).fail(4)
    groups = measured(story).errors
    assert [(each.partition, each.outcome, each.name, each.count) for each in groups] == [
        (0, Outcome.FAILED, "NOT_ENOUGH_REPLICAS", 2),
        (0, Outcome.UNKNOWN, "REQUEST_TIMED_OUT", 1),
        (1, Outcome.FAILED, "NOT_ENOUGH_REPLICAS", 1),
    ]
    assert (groups[0].first_us, groups[0].last_us, groups[0].example) == (5_000, 6_000, "NOT_ENOUGH_REPLICAS")


def test_an_error_of_the_client_itself_has_the_name_of_its_class(story):
    story.send(1, 2).fail(1, -1, "ProducerClosed: the producer was closed").fail(
        2, -1, "BrokerError: UNKNOWN_SERVER_ERROR"
    )
    assert [each.name for each in measured(story).errors] == ["ProducerClosed", "UNKNOWN_SERVER_ERROR"]


def test_refused_batches_are_counted_by_partition_and_error(story, journal_events):
    events = [journal_events("ProduceCompleted", at, 1, error_code=code) for at, code in enumerate((0, 19, 19, 6))]
    figures = measured(story.acked(1), events)
    assert [(each.name, each.batches) for each in figures.refusals] == [
        ("NOT_ENOUGH_REPLICAS", 2),
        ("NOT_LEADER_OR_FOLLOWER", 1),
    ]
    assert (figures.refused("NOT_ENOUGH_REPLICAS"), figures.refused("CORRUPT_MESSAGE")) == (2, 0)


def test_the_longest_time_in_which_records_wait_for_an_acknowledgement_is_a_pause(story):
    story.send(1, 2, 3).ok(1, 0).wait(us=999_000).ok(2, 1).wait(us=1_500_000).ok(3, 2)
    (pause,) = measured(story).pauses
    assert (pause.topic, pause.partition, pause.start_us, pause.duration_us) == ("orders", 0, 1_004_000, 1_501_000)


def test_a_failed_record_ends_a_pause_at_the_end_of_the_run(story):
    story.send(1, 2).ok(1, 0).wait(us=2_000_000).fail(2)
    (pause,) = measured(story).pauses
    assert (pause.start_us, pause.duration_us) == (3_000, 2_001_000)


def test_a_pause_shorter_than_a_second_is_not_reported(story):
    assert measured(story.send(1, 2).ok(1, 0).wait(us=998_999).ok(2, 1)).pauses == []


def test_an_idle_partition_has_no_pause(story):
    assert measured(story.acked(1).wait(us=5_000_000).acked(2), end_us=9_000_000).pauses == []


def test_the_example_of_an_error_is_the_first_of_its_time(story):
    story.send(1, 2).wait(us=-1_000).fail(1, error="first")
    story.wait(us=-1_000).fail(2, error="second")
    (group,) = measured(story).errors
    assert (group.example, group.first_us, group.last_us) == ("first", 2_000, 2_000)


def test_a_pause_of_a_second_is_reported_with_the_first_of_the_longest(story):
    story.send(1, 2, 3).ok(1, 0).wait(us=999_000).ok(2, 1).wait(us=999_000).ok(3, 2)
    (pause,) = measured(story).pauses
    assert (pause.start_us, pause.duration_us) == (4_000, 1_000_000)


def test_a_record_that_fails_within_a_pause_does_not_end_it(story):
    story.send(1, 2, 3).ok(1, 0).wait(us=600_000).fail(2).wait(us=600_000).ok(3, 1)
    (pause,) = measured(story).pauses
    assert (pause.start_us, pause.duration_us) == (4_000, 1_202_000)


def test_a_record_that_is_acknowledged_at_once_has_no_pause(story):
    story.wait(us=-1_000).send(1).wait(us=-1_000).ok(1, 0)
    assert story.now_us == 0
    assert measured(story, end_us=9_000_000).pauses == []

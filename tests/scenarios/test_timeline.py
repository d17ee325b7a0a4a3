import pytest

from broker_scenarios.journal_view import JournalView
from broker_scenarios.promises import Promises
from broker_scenarios.timeline import build_timeline
from broker_scenarios.verdict import check_run

PROMISES = Promises(acks=1, replication_factor=3)


def timeline_of(story, events=()):
    view = JournalView.of(events)
    verdict = check_run(
        history=story.history(), stored=story.stored(), truncated=story.truncations(), journal=view, promises=PROMISES
    )
    return build_timeline(verdict, view)


@pytest.fixture
def elected(journal_events):
    def event(time_us, broker, previous, epoch, isr=(2, 3)):
        return journal_events("LeaderElected", time_us, broker, previous_leader=previous, leader_epoch=epoch, isr=isr)

    return event


def test_leaders_follow_each_other_without_gaps(story, elected):
    story.acked(*range(10)).log(*range(10))
    (orders,) = timeline_of(story, [elected(5_000, -1, 1, 4), elected(9_000, 2, -1, 5)]).partitions
    assert [(band.start_us, band.end_us, band.broker, band.leader_epoch) for band in orders.leaders] == [
        (1_000, 5_000, 1, 3),
        (5_000, 9_000, -1, 4),
        (9_000, 20_000, 2, 5),
    ]


def test_an_election_before_the_load_gives_the_first_leader(story, elected):
    story.acked(1).log(1)
    (orders,) = timeline_of(story, [elected(10, 3, -1, 0, isr=(1, 2, 3))]).partitions
    assert [(band.broker, band.start_us) for band in orders.leaders] == [(3, 1_000)]
    assert not orders.eventful


def test_the_isr_steps_from_its_size_before_the_first_change(story, journal_events):
    story.acked(1).log(1)
    shrink = journal_events("IsrChanged", 1_500, 1, isr=(1,), previous_isr=(1, 2))
    (orders,) = timeline_of(story, [shrink]).partitions
    assert orders.isr_sizes == [(1_000, 2), (1_500, 1)]


def test_lost_acknowledgements_are_counted_apart_from_those_that_stay(story):
    story.acked(1, 2, 3).log(1).truncated(2, 3, first_offset=1).send(4).info(4)
    (orders,) = timeline_of(story).partitions
    assert (sum(orders.acked), sum(orders.lost), sum(orders.not_acked)) == (1, 2, 1)
    assert orders.eventful


def test_a_rule_that_fires_often_is_one_mark_and_each_crash_is_its_own(story, journal_events):
    story.acked(1).log(1)
    rule = {"rule": "hold", "act": "hold"}
    rows = [journal_events("RuleFired", 1_001 + at, 1, **rule) for at in range(3)]
    rows += [journal_events("BrokerKilled", 1_100, 1), journal_events("BrokerKilled", 1_200, 1)]
    marks = timeline_of(story, rows).marks
    assert [(mark.number, mark.mark.label, mark.count) for mark in marks] == [
        (1, "rule hold: hold", 3),
        (2, "broker 1 killed", 1),
        (3, "broker 1 killed", 1),
    ]


def test_what_happened_before_the_load_is_no_mark(story, journal_events):
    story.acked(1).log(1)
    assert timeline_of(story, [journal_events("BrokerStarted", at, 1) for at in (10, 1_000)]).marks == []


def test_the_axis_reaches_to_the_last_thing_that_happened(story, journal_events):
    story.acked(1).log(1)
    assert timeline_of(story, [journal_events("BrokerStarted", 90_000, 1)]).end_us == 90_000


def test_many_watermarks_are_thinned_to_what_can_be_drawn(story, journal_events):
    story.acked(1).log(1)
    rows = [
        journal_events("HighWatermarkAdvanced", 1_000 + at, 1, high_watermark=at, leader_epoch=0) for at in range(5_000)
    ]
    (orders,) = timeline_of(story, rows).partitions
    assert len(orders.watermarks) < 400
    assert orders.watermarks[-1] == (5_999, 4_999)


def test_the_topics_of_the_brokers_come_last(story, journal_events):
    story.acked(1).log(1).wait(us=10_000).acked(2).log(2)
    offsets = journal_events(
        "LeaderElected", 5_000, 3, previous_leader=-1, leader_epoch=0, isr=(1, 2, 3), topic="__consumer_offsets"
    )
    orders, internal = timeline_of(story, [offsets]).partitions
    assert (orders.topic, internal.topic) == ("orders", "__consumer_offsets")
    assert not internal.eventful

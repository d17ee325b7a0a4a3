"""Subscriptions by expression: resolved behind the heartbeat, refreshed with new topics."""

from __future__ import annotations

from broker_sim.coordinators.groups.consumer import consumer_records
from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode


def test_an_expression_is_resolved_after_the_join(consumers):
    bench = consumers()
    joined = bench.join("m1", subscribed_topic_regex="a|b")
    assert (joined.member_epoch, bench.partitions(joined)) == (1, {})
    bench.wait(10)
    assert (bench.describe().group_state, bench.describe().group_epoch) == ("Assigning", 2)
    response = bench.heartbeat("m1", 1)
    assert (response.member_epoch, bench.partitions(response)) == (2, {"a": [0, 1, 2], "b": [0, 1]})


def test_an_invalid_expression_is_refused(consumers):
    response = consumers().join("m1", subscribed_topic_regex="(")
    assert (response.error_code, response.error_message) == (
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        "SubscribedTopicRegex `(` is not a valid regular expression: missing closing ).",
    )


def test_an_expression_that_overflows_the_stack_of_re2j_is_not_resolved(consumers):
    bench = consumers()
    bench.join("m1", subscribed_topic_regex="((a?){1000}){1000}")
    bench.wait(10)
    assert bench.heartbeat("m1", 1).error_code == ErrorCode.NONE
    assert bench.group().regexes.keys() == []


def test_a_removed_expression_makes_a_new_epoch_and_another_one_does_not(consumers):
    bench = consumers()
    bench.join("m1", subscribed_topic_regex="a|b")
    bench.wait(10)
    bench.heartbeat("m1", 1)
    bench.heartbeat("m1", 2, subscribed_topic_regex="b")
    assert bench.describe().group_epoch == 2
    assert bench.group().regexes.keys() == []
    bench.heartbeat("m1", 2, subscribed_topic_regex="")
    assert bench.describe().group_epoch == 3


def test_a_second_member_with_the_same_expression_shares_its_topics(consumers):
    bench = consumers()
    bench.join("m1", subscribed_topic_regex="a|b")
    bench.wait(10)
    bench.heartbeat("m1", 1)
    bench.wait(1100)
    assert bench.join("m2", subscribed_topic_regex="a|b").member_epoch == 3
    targets = [
        sum(len(topic.partitions) for topic in m.target_assignment.topic_partitions) for m in bench.describe().members
    ]
    assert sorted(targets) == [2, 3]
    bench.heartbeat("m1", -1)
    assert bench.group().regexes.keys() == ["a|b"]
    bench.heartbeat("m2", -1)
    assert bench.group().regexes.keys() == []


def test_new_topics_are_found_after_ten_seconds(consumers):
    bench = consumers()
    bench.join("m1", subscribed_topic_regex="a.*")
    bench.wait(10)
    bench.heartbeat("m1", 1)
    bench.api.cluster.create_topic(TopicSpec(name="a2", partitions=1))
    bench.wait(5_000)
    bench.heartbeat("m1", 2)
    bench.wait(10)
    assert bench.describe().group_epoch == 2
    bench.wait(6_000)
    bench.heartbeat("m1", 2)
    bench.wait(10)
    assert bench.partitions(bench.heartbeat("m1", 2)) == {"a": [0, 1, 2], "a2": [0]}


def test_expressions_are_recorded_in_the_order_of_a_map_that_was_made_for_them(consumers):
    bench = consumers()
    bench.join("m1", subscribed_topic_regex="gs2005y-4-[ab]")
    bench.wait(10)
    bench.join("m2", subscribed_topic_regex="gs2005y-4-.*")
    bench.wait(10_010)
    bench.join("m3", subscribed_topic_regex=".*-c|x")
    bench.wait(10)
    # Kafka 4.3.1 wrote the records of the three in the order .*-c|x, gs2005y-4-[ab], gs2005y-4-.*
    assert bench.group().regexes.keys() == ["gs2005y-4-[ab]", ".*-c|x", "gs2005y-4-.*"]


def test_the_expression_of_a_heartbeat_that_changes_nothing_comes_first_in_its_bucket(consumers, monkeypatch):
    recorded = []
    record = consumer_records.regex_record

    def note(group_id, regex, resolved):
        recorded.append(regex)
        return record(group_id, regex, resolved)

    monkeypatch.setattr(consumer_records, "regex_record", note)
    bench = consumers()
    bench.join("m4", subscribed_topic_regex="gs26101y-1-c")
    bench.wait(10)
    bench.join("m3", subscribed_topic_regex="gs26101y-1-c|x")
    bench.wait(10_010)
    recorded.clear()
    bench.heartbeat("m4", 1)
    bench.wait(10)
    # As Kafka 4.3.1 wrote them: both are in one bucket, and the table of the group lists the other one first.
    assert recorded == ["gs26101y-1-c", "gs26101y-1-c|x"]

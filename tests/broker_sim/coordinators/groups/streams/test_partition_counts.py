from dataclasses import replace

import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.streams.configured_topology import TopicProblem
from broker_sim.coordinators.groups.streams.partition_counts import copartition_groups, decide_partition_counts
from broker_sim.metadata.metadata_image import MetadataImage, PartitionRegistration, TopicImage
from protocol_specs.schemas.coordinator.streams_group_topology import CopartitionGroup, Subtopology, TopicInfo


def image(**partitions):
    one = PartitionRegistration(replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0)
    topics = {
        name: TopicImage(name=name, topic_id=name.encode().ljust(16), partitions=(one,) * count, configs={})
        for name, count in partitions.items()
    }
    return replace(MetadataImage.empty("c"), topics=topics)


def reads(name, *sources, repartitions=(), sinks=(), changelogs=(), together=()):
    return Subtopology(
        subtopology_id=name,
        source_topics=list(sources),
        repartition_source_topics=list(repartitions),
        repartition_sink_topics=list(sinks),
        state_changelog_topics=[TopicInfo(name=each, partitions=0, replication_factor=0) for each in changelogs],
        copartition_groups=list(together),
    )


def info(name, partitions=0):
    return TopicInfo(name=name, partitions=partitions, replication_factor=0)


def together(sources=(), repartitions=()):
    return CopartitionGroup(source_topics=list(sources), repartition_source_topics=list(repartitions))


def decide(*subtopologies, **partitions):
    groups = [group for each in subtopologies for group in copartition_groups(each)]
    return decide_partition_counts(subtopologies, groups, image(**partitions)).decided


def test_a_repartition_topic_has_the_partitions_of_its_writers_widest_source():
    decided = decide(
        reads("0", "x", "y", sinks=["between"]),
        reads("1", repartitions=[info("between")], sinks=["last"]),
        reads("2", repartitions=[info("last")], changelogs=["log"]),
        x=2,
        y=5,
    )
    assert decided == {"between": 5, "last": 5, "log": 5}


def test_a_given_number_counts():
    assert decide(reads("0", "x", sinks=["b"]), reads("1", repartitions=[info("b", 7)], changelogs=["log"]), x=2) == {
        "b": 7,
        "log": 7,
    }


def test_a_loop_has_no_solution():
    with pytest.raises(CoordinatorError, match="There may be loops"):
        decide(reads("0", repartitions=[info("b")], sinks=["b"]))


def test_a_repartition_topic_that_is_never_written_has_no_solution():
    with pytest.raises(CoordinatorError, match="never used as a sink topic"):
        decide(reads("0", "x", repartitions=[info("b")]), x=1)


def test_a_subtopology_needs_a_source():
    with pytest.raises(CoordinatorError, match="No source topics found for subtopology 0"):
        decide(reads("0"))


def test_copartitioned_sources_must_be_equal():
    with pytest.raises(TopicProblem, match=r"same number of partitions: \[\{x=2, y=3\}\]"):
        decide(reads("0", "x", "y", together=[together([0, 1])]), x=2, y=3)


def test_a_repartition_topic_takes_the_number_of_its_copartitioned_source():
    decided = decide(
        reads("0", "wide", sinks=["b"]),
        reads("1", "x", repartitions=[info("b")], together=[together([0], [0])]),
        wide=8,
        x=2,
    )
    assert decided == {"b": 2}


def test_a_given_number_must_be_that_of_the_copartitioned_source():
    with pytest.raises(
        TopicProblem, match=r"\[3\] of repartition topic \[b\] doesn't match number of partitions \[2\]"
    ):
        decide(
            reads("0", "x", sinks=["b"]),
            reads("1", "x", repartitions=[info("b", 3)], together=[together([0], [0])]),
            x=2,
        )


def test_copartitioned_repartition_topics_take_the_largest_number():
    decided = decide(
        reads("0", "x", sinks=["a"]),
        reads("1", "y", sinks=["b"]),
        reads("2", repartitions=[info("a"), info("b")], together=[together([], [0, 1])]),
        x=2,
        y=6,
    )
    assert decided == {"a": 6, "b": 6}


def test_a_copartition_group_names_existing_places():
    with pytest.raises(CoordinatorError):
        list(copartition_groups(reads("0", "x", together=[together([1])])))

from broker_sim.coordinators.groups.streams.streams_topology import StreamsTopology, topology_value
from broker_sim.coordinators.groups.streams.topic_configuration import configure_topics
from tests.broker_sim.coordinators.groups.streams.streams_bench import topology
from tests.broker_sim.coordinators.groups.streams.test_partition_counts import image


def configured(shape, **partitions):
    return configure_topics(StreamsTopology.of(topology_value(shape)), image(**partitions))


def test_a_ready_topology_has_a_task_per_partition():
    found = configured(topology(changelog="log"), orders=3, log=3)
    assert (found.is_ready, found.subtopologies["0"].tasks, found.subtopologies["0"].is_stateful) == (True, 3, True)


def test_missing_internal_topics_are_listed():
    found = configured(topology(changelog="log"), orders=3)
    assert (found.problem.status, found.problem.detail) == (3, "Internal topics are missing: log")
    assert found.missing_topics["log"].partitions == 3


def test_an_internal_topic_with_another_number_of_partitions_is_a_problem():
    found = configured(topology(changelog="log"), orders=3, log=2)
    assert found.problem.detail == "Existing topic log has different number of partitions: expected 3, found 2"
    assert (found.subtopologies, found.missing_topics) == (None, {})


def test_a_status_names_three_topics():
    shape = topology()
    shape.subtopologies[0].source_topics = ["e", "d", "c", "b", "a"]
    assert configured(shape).problem.detail == "Source topics a, b, c and 2 additional topics are missing."

"""The arguments that a cluster refuses, and the forms that it takes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from broker_sim import BrokerSimError, ThreadedCluster, TopicSpec
from broker_sim.cluster_input import config_changes, config_texts, topic_specs


@pytest.mark.parametrize(
    ("shape", "problem"),
    [
        ({"brokers": "3"}, "brokers: '3' is no whole number; expected one such as brokers=3"),
        ({"brokers": 3.5}, "brokers: 3.5 is no whole number"),
        ({"brokers": 0}, "brokers: 0 is not between 1 and 1000"),
        ({"first_broker_id": 2000}, "first_broker_id: 2000 is not between 0 and 1999"),
        (
            {"brokers": 2, "first_broker_id": 0, "config": {"2:broker.rack": "a"}},
            "'2' is not a broker: they are 0 to 1",
        ),
        ({"controllers": "3"}, "controllers: '3' is no whole number; expected one such as controllers=3"),
        ({"controllers": 0}, "controllers: 0 is not between 1 and 9"),
        ({"host": 3}, "host: 3 is no text; expected an address such as '127.0.0.1'"),
        ({"data_dir": 3}, "data_dir: 3 is no path; expected a folder's, or None for logs in memory"),
        ({"journal_detail": "full"}, "journal_detail: 'full' is no Detail; expected Detail.CLUSTER or Detail.FULL"),
        ({"timeout_s": "10"}, "timeout_s: '10' is no time; expected seconds above 0, such as "),
        ({"seed": "7"}, "seed: '7' is no whole number; expected one such as seed=7"),
        ({"timeout_s": -1}, "timeout_s: -1 is no time"),
        ({"release": 3.7}, "release: 3.7 is no text; expected a release such as '3.7'"),
        ({"brokers": 1, "ports": [70000]}, "ports: 70000 (number 1) is no port; expected 0 to 65535"),
        (
            {"brokers": 2, "config": {"listeners": "PLAINTEXT://127.0.0.1:65535"}},
            "'PLAINTEXT://127.0.0.1:65535': broker 2 would have port 65536; the last port is 65535",
        ),
        ({"brokers": 1, "ports": 9092}, "ports: 9092 is no list"),
        ({"brokers": 2, "ports": [9092]}, "ports: 1 were given for 2 brokers"),
        ({"host": "0.0.0.0"}, "host: clients cannot connect to 0.0.0.0"),
        ({"topics": "orders:1:1"}, "topics: 'orders:1:1' is no list; expected texts, such as ['orders:6:3']"),
        ({"topics": ["or ders:1:1"]}, "topic 'or ders': Topic name is invalid"),
        ({"topics": [".."]}, "topic '..': Topic name is invalid"),
        ({"topics": ["orders:1:1", "orders:2:1"]}, "topics: 'orders' is given twice"),
        ({"topics": {"orders": "3"}}, "topics: '3' of 'orders': expected a number of partitions above 0"),
        ({"topics": [3]}, "topic 3: expected name:partitions:replication"),
        ({"config": [1]}, "config: [1] is no mapping"),
        ({"config": {"min.insync.replicas": None}}, "configuration 'min.insync.replicas': None is a NoneType"),
    ],
)
def test_a_shape_that_no_cluster_has_is_refused_in_one_line(shape: dict[str, Any], problem: str) -> None:
    with pytest.raises(BrokerSimError, match=re.escape(problem)) as raised:
        ThreadedCluster(**shape)
    assert "\n" not in str(raised.value)


def test_numbers_and_booleans_are_written_as_kafka_writes_them() -> None:
    assert config_texts({"a": 2, "b": 0.5, "c": True, "d": False, "e": "x"}) == {
        "a": "2",
        "b": "0.5",
        "c": "true",
        "d": "false",
        "e": "x",
    }


def test_topics_are_texts_specs_or_numbers_of_partitions_by_name() -> None:
    spec = TopicSpec(name="b", partitions=2)
    assert topic_specs(["a:3:1", spec]) == [TopicSpec(name="a", partitions=3), spec]
    assert topic_specs({"a": 3, "b": spec}) == [TopicSpec(name="a", partitions=3), spec]


def test_a_cluster_takes_numbers_and_booleans_for_brokers_and_topics() -> None:
    spec: Any = TopicSpec(name="orders", configs={"retention.ms": 1_000})  # type: ignore[dict-item]
    config = {"min.insync.replicas": 1, "unclean.leader.election.enable": True}
    with ThreadedCluster(brokers=1, topics=[spec], config=config) as cluster:
        assert cluster.cluster.config.unclean_leader_election_enable is True
        assert cluster.log_of(1, "orders", 0).config.retention_ms == 1_000


def test_a_change_of_none_deletes_a_configuration() -> None:
    changes = config_changes({"e": None, "a": 2, "d": None, "b": None, "c": True})
    assert list(changes.items()) == [("e", None), ("a", "2"), ("d", None), ("b", None), ("c", "true")]

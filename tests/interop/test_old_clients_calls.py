"""Each call of an old Java client has the same outcome on real brokers and on ours, also on old releases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from broker_client import TopicPartition
from broker_client.consumer import Consumer
from broker_sim.config.release_behaviour import behaviour_of, release_number
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.error_codes import ErrorCode
from tests.interop.kafka_release import RELEASES, clients_folder
from tests.interop.old_client_checks import outcomes, topics_of
from tests.interop.old_clients_jvm import OldClientsJvm, old_clients_jvm
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPICS_SECONDS_MAX = 30
REFERENCE = "3.7.2"
"""The release that clients of all ages can use, and that is compared with the real one."""
BROKERS = {
    "0.8.2.2": ("0.8.2.2", "0.9.0.1"),
    "0.9.0.1": ("0.9.0.1", "0.10.0.1"),
    "0.10.0.1": ("0.10.0.1", "0.10.1.1"),
    "0.10.2.2": ("0.10.0.1", "0.10.2.2", "0.11.0.3"),
    "0.11.0.3": ("0.11.0.3", "1.0.2"),
    "1.1.1": ("1.0.2", "1.1.1", "2.0.1"),
    "2.0.1": ("1.1.1", "2.0.1", "2.1.1"),
    "2.4.1": ("2.3.1", "2.4.1", "2.5.1"),
    "2.8.2": ("2.7.2", "2.8.2", "3.0.2"),
    "3.0.2": ("2.8.2", "3.0.2", "3.1.2"),
}
"""Clients, and the brokers of their time and beside it; before 0.10.2 a client speaks to no older broker."""
MISSING_BEFORE = {"offset at": (0, 10, 1), "reassign": (2, 4), "cancel": (2, 4), "elect uncleanly": (2, 4)}
"""Calls that brokers serve only from a release on: older clients do not have them, newer ones get an error."""
ELECTION_NOT_NEEDED_SINCE = (2, 4)
WITH_DELETION = (1, 0)
CONFIGS_OF_NOTE = re.compile(r"retention\.ms=-1|cleanup\.policy=(?:delete,)?compact")


@pytest.fixture(scope="module")
def jvm() -> Iterator[OldClientsJvm]:
    clients_folder(*BROKERS)
    with old_clients_jvm() as started:
        yield started


@pytest.fixture(scope="module")
def ours() -> dict[tuple[str, str], dict[str, str]]:
    """The outcomes on our brokers so far, by client and release."""
    return {}


@pytest.fixture(scope="module", params=RELEASES)
def real(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """A real broker: its release and its servers."""
    with real_kafka(request.param) as kafka:
        yield request.param, kafka.bootstrap_servers


def on_ours(
    jvm: OldClientsJvm, ours: dict[tuple[str, str], dict[str, str]], client: str, release: str
) -> dict[str, str]:
    if (client, release) not in ours:
        config = {} if release_number(release) >= WITH_DELETION else {"delete.topic.enable": "true"}
        with ThreadedCluster(brokers=1, release=release, topics=topics_of(release), config=config) as cluster:
            ours[client, release] = outcomes(jvm, client, release, cluster.bootstrap_servers)
    return ours[client, release]


def on_real(jvm: OldClientsJvm, client: str, release: str, servers: str) -> dict[str, str]:
    admin = AdminClient({"bootstrap.servers": servers})
    topics = [NewTopic(each.name, each.partitions, 1, config=dict(each.configs)) for each in topics_of(release)]
    for created in admin.create_topics(topics, operation_timeout=TOPICS_SECONDS_MAX).values():
        created.result(TOPICS_SECONDS_MAX)
    # Metadata lists leaders before they know it.
    with Consumer(bootstrap_servers=servers) as consumer:
        consumer.end_offsets(
            [TopicPartition(topic.topic, index) for topic in topics for index in range(topic.num_partitions)]
        )
    try:
        return outcomes(jvm, client, release, servers)
    finally:
        # The next client begins with topics of its own.
        names = [topic.topic for topic in topics]
        for deleted in admin.delete_topics(names, operation_timeout=TOPICS_SECONDS_MAX).values():
            deleted.result(TOPICS_SECONDS_MAX)


@pytest.mark.parametrize("client", BROKERS)
def test_every_call_comes_to_the_same_as_on_a_real_broker(
    jvm: OldClientsJvm, ours: dict[tuple[str, str], dict[str, str]], real: tuple[str, str], client: str
) -> None:
    release, servers = real
    found = on_real(jvm, client, release, servers)
    assert len(found) > 10
    assert on_ours(jvm, ours, client, release) == found


@pytest.mark.parametrize(("client", "release"), [(each, broker) for each in BROKERS for broker in BROKERS[each]])
def test_every_call_works_on_the_releases_of_its_time(
    jvm: OldClientsJvm, ours: dict[tuple[str, str], dict[str, str]], client: str, release: str
) -> None:
    found = on_ours(jvm, ours, client, release)
    reference = on_ours(jvm, ours, client, REFERENCE)
    assert list(found) == list(reference)
    expected = {name: expected_on(release, name, outcome) for name, outcome in reference.items()}
    assert {name: of_note(name, outcome) for name, outcome in found.items()} == expected


def of_note(name: str, outcome: str) -> str:
    """Return the part of an outcome that all releases share: their error texts differ."""
    if not outcome.startswith("ok"):
        return outcome.partition(":")[0]
    if "configs" in name:
        return f"ok {CONFIGS_OF_NOTE.findall(outcome)}"
    return re.sub(r"(\w+Exception): [^}]*", r"\1", outcome)


def expected_on(release: str, name: str, reference: str) -> str:
    """The same as on the reference, except for the differences in `release_behaviour`."""
    behaviour = behaviour_of(release)
    number = release_number(release)
    call = name.partition(" ")[2]
    if any(call.startswith(start) and number < since for start, since in MISSING_BEFORE.items()):
        return "UnsupportedVersionException"
    if call == "elect" and number < ELECTION_NOT_NEEDED_SINCE:
        return "ok {t-plain-0=elected}"
    if call == "too few in sync" and not behaviour.min_isr_within_replicas:
        return "NotEnoughReplicasException"
    if call == "no key in a compacted topic" and behaviour.known(ErrorCode.INVALID_RECORD) != ErrorCode.INVALID_RECORD:
        return "CorruptRecordException"
    if call == "features" and behaviour.zookeeper:
        return "ok {}"
    return of_note(name, reference)

"""Several listeners: each returns its advertised endpoints, without the brokers that lack it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.metadata import MetadataRequest
from tests.differential.case import case
from tests.differential.cases.cluster import placed, without_controller
from tests.differential.cases.find_coordinator import GROUP, await_coordinator
from tests.differential.config_requests import BROKER, SET, incremental
from tests.differential.extra_listeners import EXTRA_LISTENERS
from tests.differential.probe import attempts
from tests.differential.requests import all_versions, batch, fetch, metadata, produce, wanted

if TYPE_CHECKING:
    from tests.differential.probe import Connection, Probe

TWO = ((EXTRA_LISTENERS, "EXTERNAL,HIDDEN-"),)
PARTIAL = ((EXTRA_LISTENERS, "EXTERNAL,PARTIAL@1"),)


def nodes(response: Any, name: str = "brokers", node: str = "nodeId") -> Any:
    """Return the response with the host of each node, and a flag in place of its port."""
    shown = [f"{each[node]} {each['host']} {each['port'] > 0}" for each in response.get(name, [])]
    return response | {name: sorted(shown)}


def send_metadata(probe: Probe, request: MetadataRequest, connection: Connection, note: str) -> None:
    for version in all_versions(MetadataRequest):
        probe.exchange(
            request,
            version,
            on=connection,
            note=note,
            only=lambda response, v=version: nodes(without_controller(response) if v else response),
        )


@case(settings=TWO)
def metadata_of_each_listener(probe: Probe) -> None:
    topic = probe.topic()
    for name in (None, "EXTERNAL", "HIDDEN"):
        send_metadata(probe, metadata(topic), probe.connect(listener=name), str(name))


@case(settings=TWO)
def describe_cluster_of_each_listener(probe: Probe) -> None:
    for name in (None, "EXTERNAL", "HIDDEN"):
        for version in all_versions(DescribeClusterRequest):
            probe.exchange(
                DescribeClusterRequest(),
                version,
                on=probe.connect(listener=name),
                note=str(name),
                only=lambda response: nodes(without_controller(response), node="brokerId"),
            )


@case(settings=TWO)
def find_coordinator_of_each_listener(probe: Probe) -> None:
    await_coordinator(probe, GROUP)
    for name in (None, "EXTERNAL", "HIDDEN"):
        connection = probe.connect(listener=name)
        for version in (0, 1, 3):
            request = FindCoordinatorRequest(key="g")
            probe.exchange(request, version, on=connection, note=str(name), only=_host)
        request = FindCoordinatorRequest(key="g", coordinator_keys=["g", "h"])
        probe.exchange(request, 4, on=connection, note=str(name), only=lambda response: nodes(response, "coordinators"))


def _host(response: Any) -> Any:
    return response | {"host": f"{response['host']} {response['port'] > 0}"}


@case(settings=TWO)
def produce_and_fetch_by_each_listener(probe: Probe) -> None:
    topic = probe.topic()
    for name in (None, "EXTERNAL", "HIDDEN"):
        connection = probe.connect(listener=name)
        probe.exchange(produce(topic, batch(b"a")), 9, on=connection, note=str(name))
        probe.exchange(fetch(topic, wanted()), 12, on=connection, note=str(name))


@case(settings=TWO, releases=("4.3.1",))
def describe_topic_partitions_of_each_listener(probe: Probe) -> None:
    topic = probe.topic()
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=topic)])
    for name in (None, "EXTERNAL", "HIDDEN"):
        probe.exchange(request, 0, on=probe.connect(listener=name), note=str(name))


@case(brokers=2, settings=PARTIAL)
def leaders_that_lack_the_listener(probe: Probe) -> None:
    both, _ = placed(probe, "both", [1, 2], [2, 1], all_brokers=(1, 2))
    one, _ = placed(probe, "one", [2], [1], all_brokers=(1, 2))
    for broker, name in ((1, None), (2, None), (1, "EXTERNAL"), (2, "EXTERNAL"), (1, "PARTIAL")):
        for topic in (both, one):
            send_metadata(probe, metadata(topic), probe.connect(broker, listener=name), f"{name} of {broker}, {topic}")


@case(brokers=2, settings=PARTIAL)
def describe_cluster_without_those_that_lack_the_listener(probe: Probe) -> None:
    for _ in attempts("both brokers"):
        response: Any = probe.quiet(DescribeClusterRequest(), 0)
        if len(response.brokers) == 2:
            break
    for version in all_versions(DescribeClusterRequest):
        probe.exchange(
            DescribeClusterRequest(),
            version,
            on=probe.connect(listener="PARTIAL"),
            # Any broker that lives is named, unless it lacks the listener.
            only=lambda response: nodes(
                response | {"controllerId": response["controllerId"] in {1, -1}}, node="brokerId"
            ),
        )


@case(brokers=2, settings=PARTIAL)
def coordinators_that_lack_the_listener(probe: Probe) -> None:
    await_coordinator(probe, GROUP)
    connection = probe.connect(listener="PARTIAL")
    for key in ("a", "b", "c", "d"):
        request = FindCoordinatorRequest(key=key, coordinator_keys=[key])
        for _ in attempts("a coordinator"):
            response: Any = probe.quiet(request, 4)
            if response.coordinators[0].error_code == 0:
                break
        seen: Any = probe.quiet(request, 4, on=connection)
        there, here = response.coordinators[0], seen.coordinators[0]
        # Which broker it is depends on where the partitions of the internal topic are.
        probe.write(
            same=(here.node_id, here.host)
            == ((there.node_id, "partial.example.com") if there.node_id == 1 else (-1, "")),
            error=here.error_code == (0 if there.node_id == 1 else 15),
        )


@case(brokers=2, settings=PARTIAL)
def leaders_elsewhere_by_the_listener_of_the_connection(probe: Probe) -> None:
    """KIP-951 names the leader's endpoint of the same listener, or none."""
    topic, topic_id = placed(probe, "t", [2], all_brokers=(1, 2))
    for name in (None, "EXTERNAL", "PARTIAL"):
        connection = probe.connect(listener=name)
        probe.exchange(
            produce(topic, batch(b"a")), 10, on=connection, note=str(name), only=lambda a: nodes(a, "nodeEndpoints")
        )
        probe.exchange(
            fetch(topic, wanted(), topic_id=topic_id),
            16,
            on=connection,
            note=str(name),
            only=lambda a: nodes(a, "nodeEndpoints"),
        )


@case(settings=TWO)
def limits_of_one_listener(probe: Probe) -> None:
    """Configurations that may change while a broker runs, and their limits."""
    for listener in ("external", "plaintext", "missing"):
        for key, values in (
            ("num.network.threads", ("0", "1", "2", "6", "7", "x")),
            ("max.connections", ("-1", "0", "5")),
            ("max.connection.creation.rate", ("-1", "0", "5")),
        ):
            for value in values:
                name = f"listener.name.{listener}.{key}"
                for broker in ("1", ""):
                    request = incremental((BROKER, broker, [(name, SET, value)]), validate_only=True)
                    probe.exchange(request, 1, note=f"{name}={value} of {broker!r}")


@case(settings=TWO)
def limits_of_all_listeners(probe: Probe) -> None:
    for key, values in (("num.network.threads", ("1", "6", "7")), ("max.connections", ("0", "5"))):
        for value in values:
            request = incremental((BROKER, "1", [(key, SET, value)]), validate_only=True)
            probe.exchange(request, 1, note=f"{key}={value}")

"""Requests of brokers at the controller's own listener: sessions, ids, ISRs, directories, envelopes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.framing import decode_response, encode_request
from protocol_specs.json_form import to_json
from protocol_specs.messages import controller_registration
from protocol_specs.messages.allocate_producer_ids import AllocateProducerIdsRequest
from protocol_specs.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, DirectoryData
from protocol_specs.messages.broker_heartbeat import BrokerHeartbeatRequest
from protocol_specs.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.describe_quorum import DescribeQuorumRequest
from protocol_specs.messages.envelope import EnvelopeRequest, EnvelopeResponse
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.unregister_broker import UnregisterBrokerRequest
from protocol_specs.registry import response_type
from protocol_specs.schemas.default_principal_data import DefaultPrincipalData
from protocol_specs.schemas.record_serde import encode_versioned
from tests.differential.case import case
from tests.differential.cases.controller_listener import OWN_CLUSTER, controller, exchange
from tests.differential.cases.describe_quorum import METADATA_TOPIC, of

if TYPE_CHECKING:
    from protocol_specs.message import Message
    from tests.differential.probe import Probe


def without_epoch(response: Any) -> Any:
    """Broker epochs are offsets of the metadata log."""
    if response.get("brokerEpoch", -1) > 0:
        response["brokerEpoch"] = "<of the moment>"
    return response


def cluster_id(probe: Probe) -> str:
    """The id of the cluster."""
    response: Any = probe.quiet(DescribeClusterRequest(), 0)
    text: str = response.cluster_id
    return text


@case()
def heartbeats_that_are_stale(probe: Probe) -> None:
    for broker_id, epoch in ((77, 0), (1, 999_999), (1, -1), (-1, 0)):
        request = BrokerHeartbeatRequest(broker_id=broker_id, broker_epoch=epoch, current_metadata_offset=1)
        exchange(probe, request, 0, 1, 2, note=f"broker {broker_id}, epoch {epoch}")


@case()
def producer_ids_for_unknown_brokers(probe: Probe) -> None:
    for broker_id, epoch in ((77, 0), (1, 999_999), (1, -1), (-1, 0)):
        exchange(
            probe, AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch), 0, note=f"broker {broker_id}"
        )


def registration(
    broker_id: int, cluster: str, incarnation: bytes, *, level: int, log_dirs: list[bytes], **more: Any
) -> BrokerRegistrationRequest:
    """A broker's registration with all that it needs."""
    given: dict[str, Any] = {
        "listeners": [Listener(name="PLAINTEXT", host="localhost", port=1234, security_protocol=0)]
    } | more
    features = [Feature(name="metadata.version", min_supported_version=7, max_supported_version=level)]
    others = (
        ("group.version", 1),
        ("transaction.version", 2),
        ("eligible.leader.replicas.version", 1),
        ("share.version", 1),
        ("streams.version", 1),
    )
    features += [Feature(name=name, min_supported_version=0, max_supported_version=highest) for name, highest in others]
    return BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=cluster,
        incarnation_id=incarnation,
        features=features,
        log_dirs=log_dirs,
        **given,
    )


@case(settings=OWN_CLUSTER)
def registrations(probe: Probe) -> None:
    cluster = cluster_id(probe)
    mine, other = b"\x11" * 16, b"\x22" * 16
    first, second = b"\x33" * 16, b"\x44" * 16
    for request, note in (
        (registration(77, "AAAAAAAAAAAAAAAAAAAAAQ", mine, level=30, log_dirs=[first]), "another cluster"),
        (registration(77, cluster, mine, level=30, log_dirs=[]), "no directory"),
        (registration(77, cluster, mine, level=30, log_dirs=[first, first]), "a directory twice"),
        (registration(77, cluster, mine, level=30, log_dirs=[bytes(15) + b"\5"]), "a reserved directory"),
        (registration(77, cluster, mine, level=7, log_dirs=[first]), "an old broker"),
        (registration(1, cluster, mine, level=30, log_dirs=[first]), "the id of a broker that lives"),
        (registration(77, cluster, mine, level=30, log_dirs=[first]), "a broker"),
        (registration(77, cluster, mine, level=30, log_dirs=[first, second]), "the same again"),
        (registration(77, cluster, other, level=30, log_dirs=[first]), "another incarnation"),
        (registration(78, cluster, other, level=30, log_dirs=[first]), "the other's directory"),
    ):
        exchange(probe, request, 3, note=note, only=without_epoch)
    exchange(
        probe,
        registration(79, cluster, other, level=30, log_dirs=[b"\x55" * 16]),
        2,
        note="version 2",
        only=without_epoch,
    )
    exchange(
        probe,
        registration(80, cluster, other, level=30, log_dirs=[b"\x66" * 16]),
        0,
        note="version 0",
        only=without_epoch,
    )


@case(settings=OWN_CLUSTER)
def a_fenced_broker_that_is_replaced(probe: Probe) -> None:
    cluster = cluster_id(probe)
    first, second, third = (bytes([number]) * 16 for number in (0x21, 0x22, 0x23))
    directory = [b"\x91" * 16]
    response: Any = probe.quiet(registration(91, cluster, first, level=30, log_dirs=directory), 3, on=controller(probe))
    beat = BrokerHeartbeatRequest(
        broker_id=91, broker_epoch=response.broker_epoch, current_metadata_offset=response.broker_epoch, want_fence=True
    )
    exchange(probe, beat, 1, note="fenced, and a heartbeat received")
    exchange(
        probe, registration(91, cluster, second, level=30, log_dirs=directory), 3, note="another", only=without_epoch
    )
    exchange(probe, beat, 1, note="the first one again")
    exchange(
        probe, registration(91, cluster, third, level=30, log_dirs=directory), 3, note="a third", only=without_epoch
    )


@case(settings=OWN_CLUSTER)
def a_broker_that_comes_and_goes(probe: Probe) -> None:
    request = registration(90, cluster_id(probe), b"\x12" * 16, level=30, log_dirs=[b"\x77" * 16])
    response = probe.exchange(request, 3, on=controller(probe), only=without_epoch)
    epoch = response.broker_epoch

    def beat(*, offset: int, fence: bool = False, stop: bool = False, note: str) -> None:
        heartbeat = BrokerHeartbeatRequest(
            broker_id=90, broker_epoch=epoch, current_metadata_offset=offset, want_fence=fence, want_shut_down=stop
        )
        probe.exchange(heartbeat, 1, on=controller(probe), note=note)

    beat(offset=0, note="behind")
    beat(offset=epoch, fence=True, note="caught up, wants to be fenced")
    beat(offset=epoch, note="caught up")
    ids: Any = probe.quiet(AllocateProducerIdsRequest(broker_id=90, broker_epoch=epoch), 0, on=controller(probe))
    more: Any = probe.quiet(AllocateProducerIdsRequest(broker_id=90, broker_epoch=epoch), 0, on=controller(probe))
    probe.write(
        blocks_follow=more.producer_id_start == ids.producer_id_start + ids.producer_id_len, size=ids.producer_id_len
    )
    beat(offset=epoch, stop=True, note="wants to stop")
    exchange(probe, UnregisterBrokerRequest(broker_id=90), 0)
    beat(offset=epoch, note="is not registered")


@case(settings=OWN_CLUSTER)
def controllers_that_register(probe: Probe) -> None:
    listeners = [controller_registration.Listener(name="CONTROLLER", host="localhost", port=4321, security_protocol=0)]
    features = [
        controller_registration.Feature(name="metadata.version", min_supported_version=7, max_supported_version=30)
    ]
    request = controller_registration.ControllerRegistrationRequest(
        controller_id=55, incarnation_id=b"\x31" * 16, listeners=listeners, features=features
    )
    exchange(probe, request, 0, note="a controller")
    nowhere = controller_registration.ControllerRegistrationRequest(controller_id=56, incarnation_id=b"\x32" * 16)
    exchange(probe, nowhere, 0, note="a controller that listens nowhere")
    exchange(probe, DescribeClusterRequest(endpoint_type=2), 1, note="who is there")


@case()
def isrs_of_unknown_leaders(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    partition = PartitionData(
        partition_index=0, leader_epoch=0, new_isr=[1], new_isr_with_epochs=[BrokerState(broker_id=1)]
    )
    wanted = [TopicData(topic_name=topic, topic_id=topic_id, partitions=[partition])]
    for broker_id, epoch in ((77, 0), (1, 999_999), (1, -1)):
        exchange(
            probe,
            AlterPartitionRequest(broker_id=broker_id, broker_epoch=epoch, topics=wanted),
            2,
            3,
            note=f"broker {broker_id}",
        )


@case()
def directories_of_unknown_brokers(probe: Probe) -> None:
    directory = DirectoryData(id=b"\7" * 16, topics=[])
    for broker_id, epoch in ((77, 0), (1, 999_999), (1, -1)):
        request = AssignReplicasToDirsRequest(broker_id=broker_id, broker_epoch=epoch, directories=[directory])
        exchange(probe, request, 0, note=f"broker {broker_id}")


PRINCIPAL = encode_versioned(DefaultPrincipalData(type="User", name="ANONYMOUS", token_authenticated=False), 0)


def envelope(request: Message, version: int, **more: Any) -> EnvelopeRequest:
    """A client's request as a broker passes it on."""
    data = encode_request(request, version, correlation_id=4711, client_id="inner")[4:]
    return EnvelopeRequest(
        **{"request_data": data, "request_principal": PRINCIPAL, "client_host_address": b"\x7f\0\0\1"} | more
    )


def _opened(probe: Probe, request: Message, version: int, note: str) -> None:
    """Return the response that the envelope's response contains."""
    response: Any = probe.quiet(envelope(request, version), 0, on=controller(probe))
    if not isinstance(response, EnvelopeResponse) or response.error_code or response.response_data is None:
        shown: Any = response if isinstance(response, str) else to_json(response, 0)
        probe.write(note=note, response=shown)
        return
    correlation_id, inner = decode_response(response_type(request.API_KEY), version, bytes(response.response_data))
    shown = probe.normaliser.normalise(to_json(inner, version))
    for topic in shown.get("topics", ()):
        topic.pop("topicId", None)
    probe.write(note=note, correlation_id=correlation_id, response=shown)


@case()
def envelopes(probe: Probe) -> None:
    topic = CreatableTopic(name=f"{probe.name}-t", num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
    _opened(probe, request, 5, "a topic")
    _opened(probe, request, 7, "the same again")
    _opened(probe, UnregisterBrokerRequest(broker_id=77), 0, "a broker")
    _opened(probe, DescribeQuorumRequest(topics=of(("other", (0,))).topics), 1, "the quorum")


@case()
def envelopes_that_are_refused(probe: Probe) -> None:
    inner = UnregisterBrokerRequest(broker_id=77)
    for request, note in (
        (envelope(inner, 0, client_host_address=b"\1\2\3"), "an address of three bytes"),
        (envelope(inner, 0, client_host_address=b""), "no address"),
        (envelope(inner, 0, request_principal=None), "no principal"),
        (envelope(inner, 0, request_principal=b""), "an empty principal"),
        (envelope(inner, 0, request_principal=b"\0\0"), "a principal that is cut"),
        (envelope(inner, 0, request_data=b""), "no request"),
        (envelope(inner, 0, request_data=b"\0\1\2"), "a request that is cut"),
        (envelope(inner, 0, request_data=envelope(inner, 0).request_data[:-2]), "a body that is cut"),
        (envelope(MetadataRequest(topics=[]), 9), "Metadata"),
        (envelope(ApiVersionsRequest(), 0), "ApiVersions"),
        (envelope(DescribeClusterRequest(endpoint_type=2), 1), "DescribeCluster"),
        (envelope(BrokerHeartbeatRequest(broker_id=1), 0), "a heartbeat"),
        (envelope(envelope(inner, 0), 0), "an envelope"),
    ):
        exchange(probe, request, 0, note=note, only=_without_data)


def _without_data(response: dict[str, Any]) -> dict[str, Any]:
    response["responseData"] = None if response["responseData"] is None else "<some>"
    return response


@case(brokers=3)
def who_is_not_the_controller(probe: Probe) -> None:
    quorum: Any = probe.quiet(of((METADATA_TOPIC, (0,))), 1)
    other = next(each for each in (1, 2, 3) if each != quorum.topics[0].partitions[0].leader_id)
    directory = DirectoryData(id=b"\7" * 16, topics=[])
    listeners = [controller_registration.Listener(name="CONTROLLER", host="localhost", port=4321, security_protocol=0)]
    registered = controller_registration.ControllerRegistrationRequest(
        controller_id=55, incarnation_id=b"\x31" * 16, listeners=listeners
    )
    broker = registration(77, cluster_id(probe), b"\x11" * 16, level=30, log_dirs=[b"\x33" * 16])
    for request, version in (
        (BrokerHeartbeatRequest(broker_id=1, broker_epoch=0), 0),
        (AllocateProducerIdsRequest(broker_id=1, broker_epoch=0), 0),
        (broker, 3),
        (registered, 0),
        (AlterPartitionRequest(broker_id=1, broker_epoch=0, topics=[]), 3),
        (AssignReplicasToDirsRequest(broker_id=1, broker_epoch=0, directories=[directory]), 0),
        (envelope(UnregisterBrokerRequest(broker_id=77), 0), 0),
        (envelope(CreateTopicsRequest(topics=[], timeout_ms=1000), 5), 0),
    ):
        probe.exchange(request, version, on=controller(probe, other), only=_data_and_epoch)


def _data_and_epoch(response: dict[str, Any]) -> dict[str, Any]:
    return _without_data(response) if "responseData" in response else without_epoch(response)

"""The throttle times of clients over their quotas, and how long their connections stay muted (KIP-219, KIP-599)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from protocol_specs.framing import decode_response, encode_request
from protocol_specs.json_form import from_json, to_json
from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol_specs.messages.create_topics import CreateTopicsRequest
from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.registry import response_type
from tests.differential.case import case
from tests.differential.cases.client_quotas import settle as set_quotas
from tests.differential.cases.create_topics import new
from tests.differential.probe import RESPONSE_SECONDS, SILENT
from tests.differential.requests import batch, fetch, fill, list_offsets, metadata, produce, wanted

if TYPE_CHECKING:
    from protocol_specs.message import Message
    from tests.differential.cases.client_quotas import Entity
    from tests.differential.probe import Connection, Probe

ANONYMOUS = "ANONYMOUS"
KILOBYTE = b"x" * 1000
SERVED_SECONDS = 1.0
"""How long a connection that is not muted may need: less than the shortest throttle time, 1.25 s."""


class Client:
    """A connection with a client id of its own."""

    def __init__(self, probe: Probe, client_id: str | None) -> None:
        self.probe = probe
        self.client_id = client_id
        self.connection: Connection = probe.connect()
        self._correlation_id = 0

    def send(self, request: Message, version: int) -> None:
        """Send, and wait for nothing."""
        self._correlation_id += 1
        request = from_json(type(request), version, to_json(request, version))
        self.connection.send(
            encode_request(request, version, correlation_id=self._correlation_id, client_id=self.client_id)
        )

    def exchange(self, request: Message, version: int) -> Any:
        """Send and receive."""
        self.send(request, version)
        return self.receive(request, version)

    def receive(self, request: Message, version: int, seconds: float = RESPONSE_SECONDS) -> Any:
        """Return the response as JSON, or the outcome in its place."""
        response = self.connection.receive(seconds)
        if isinstance(response, str):
            return response
        return to_json(decode_response(response_type(request.API_KEY), version, response)[1], version)

    def shows(self, request: Message, version: int, *, note: str = "") -> Any:
        """Send a request and record the whole response."""
        response = self.exchange(request, version)
        self.probe.write(
            api=request.NAME, version=version, response=self.probe.normaliser.normalise(response), note=note
        )
        return response

    def is_mute(self, *, within_s: float = 0.5, note: str = "") -> None:
        """Write down whether the connection is served within a time, and whether it is served in the end."""
        request = ApiVersionsRequest(client_software_name="probe", client_software_version="1")
        self.send(request, 3)
        at_once = self.receive(request, 3, within_s)
        later = self.receive(request, 3) if at_once == SILENT else at_once
        self.probe.write(mute=at_once == SILENT, then="served" if isinstance(later, dict) else later, note=note)


def settle(probe: Probe, wanted: dict[Entity, dict[str, float]]) -> None:
    """Alter to exactly these quotas, and wait until the broker throttles by them: it shows them before."""
    set_quotas(probe, wanted)
    probe.await_applied()


def client_entity(name: str) -> Entity:
    """The entity of a client id alone."""
    return (("client-id", name),)


def listed(entity: Entity) -> list[list[str | None]]:
    """An entity as it is written down."""
    return [list(each) for each in entity]


def limited(probe: Probe, **quotas: float) -> Client:
    """A client under these quotas."""
    settle(probe, {client_entity(probe.name): quotas})
    return Client(probe, probe.name)


def done(probe: Probe) -> None:
    """Leave no quota behind."""
    settle(probe, {client_entity(probe.name): {}})


@case()
def a_produce_over_its_quota(probe: Probe) -> None:
    topic = probe.topic(retention_ms="-1")
    for version in (3, 7, 9):
        client_id = f"{probe.name}-{version}"
        settle(probe, {client_entity(client_id): {"producer_byte_rate": 1000.0}})
        client = Client(probe, client_id)
        client.shows(produce(topic, batch(*[KILOBYTE] * 5)), version, note="within")
        client.shows(produce(topic, batch(b"v")), version, note="small")
        settle(probe, {client_entity(client_id): {}})


@case()
def a_big_produce_mutes_its_connection(probe: Probe) -> None:
    topic = probe.topic(retention_ms="-1")
    for version in (3, 9):
        client_id = f"{probe.name}-{version}"
        settle(probe, {client_entity(client_id): {"producer_byte_rate": 1000.0}})
        client, other = Client(probe, client_id), Client(probe, client_id)
        client.shows(produce(topic, batch(*[KILOBYTE] * 11)), version, note="over")
        client.is_mute()
        client.is_mute(within_s=SERVED_SECONDS, note="again")
        other.is_mute(within_s=SERVED_SECONDS, note="another connection of the client")
        settle(probe, {client_entity(client_id): {}})


@case()
def acks_0_over_its_quota(probe: Probe) -> None:
    topic = probe.topic(retention_ms="-1")
    client = limited(probe, producer_byte_rate=1000.0)
    client.send(produce(topic, batch(*[KILOBYTE] * 11), acks=0), 9)
    client.is_mute()
    done(probe)


@case()
def an_error_counts_into_the_quota_too(probe: Probe) -> None:
    client = limited(probe, producer_byte_rate=1000.0)
    client.shows(produce(f"{probe.name}-nowhere", batch(*[KILOBYTE] * 11)), 9)
    client.is_mute()
    done(probe)


@case()
def a_fetch_over_its_quota(probe: Probe) -> None:
    topic = probe.topic(retention_ms="-1")
    fill(probe, topic, batch(*[KILOBYTE] * 11))
    for version in (4, 7, 11, 12):
        client_id = f"{probe.name}-{version}"
        settle(probe, {client_entity(client_id): {"consumer_byte_rate": 1000.0}})
        client = Client(probe, client_id)
        client.shows(fetch(topic, wanted(0)), version)
        if version == 4:
            client.is_mute()
        settle(probe, {client_entity(client_id): {}})


@case()
def a_fetch_is_cut_to_what_its_quota_allows(probe: Probe) -> None:
    topic = probe.topic(retention_ms="-1")
    fill(probe, topic, *[batch(*[KILOBYTE] * 4)] * 5)
    client = limited(probe, consumer_byte_rate=1000.0)
    client.shows(fetch(topic, wanted(0)), 11, note="two of five batches are within the window")
    client.is_mute(within_s=5)  # its throttle time is 0.1 s
    client.shows(fetch(topic, wanted(0), min_bytes=1_000_000, max_wait_ms=100), 11)
    done(probe)


@case()
def an_incremental_fetch_over_its_quota(probe: Probe) -> None:
    topic = probe.topic(retention_ms="-1")
    client = limited(probe, consumer_byte_rate=1000.0)
    opened = client.exchange(fetch(topic, wanted(0), session_id=0, session_epoch=0), 11)
    session = opened["sessionId"]
    fill(probe, topic, batch(*[KILOBYTE] * 12))
    probe.write(opened=session != 0, throttle=opened["throttleTimeMs"])
    again = client.exchange(fetch(None, session_id=session, session_epoch=1), 11)
    probe.write(same=again["sessionId"] == session, responses=again["responses"], throttled=again["throttleTimeMs"] > 0)
    done(probe)


@case()
def the_time_of_requests_has_a_quota(probe: Probe) -> None:
    topic = probe.topic(retention_ms="-1")
    requests: list[tuple[Message, int]] = [
        (metadata(topic), 9),
        (metadata(topic), 2),
        (list_offsets(topic, -1), 5),
        (DescribeClusterRequest(), 0),
        (ApiVersionsRequest(client_software_name="probe", client_software_version="1"), 3),
        (ApiVersionsRequest(), 0),
        (produce(topic, batch(b"v")), 9),
        (fetch(topic, wanted(0)), 11),
        (DeleteTopicsRequest(topics=[DeleteTopicState(name=f"{probe.name}-no")], timeout_ms=1000), 6),
        (CreateTopicsRequest(topics=[new("a b")], timeout_ms=1000), 7),
    ]
    settle(probe, {client_entity(probe.name): {"request_percentage": 1e-7}})
    for request, version in requests:
        client = Client(probe, probe.name)
        response = client.exchange(request, version)
        probe.write(api=request.NAME, version=version, throttle=response.get("throttleTimeMs"))
        if version == 9:
            client.is_mute()
    done(probe)


@case()
def acks_0_has_no_quota_of_time(probe: Probe) -> None:
    topic = probe.topic(retention_ms="-1")
    client = limited(probe, request_percentage=1e-7)
    client.send(produce(topic, batch(b"v"), acks=0), 9)
    client.send(produce(topic, batch(b"v"), acks=0), 9)
    client.is_mute(within_s=SERVED_SECONDS)
    done(probe)


@case()
def the_narrowest_entity_wins(probe: Probe) -> None:
    topic = probe.topic(retention_ms="-1")
    name = probe.name
    ladder: list[Entity] = [
        (("client-id", None),),
        (("client-id", name),),
        (("user", None),),
        (("user", ANONYMOUS),),
        (("user", None), ("client-id", None)),
        (("user", None), ("client-id", name)),
        (("user", ANONYMOUS), ("client-id", None)),
        (("user", ANONYMOUS), ("client-id", name)),
    ]
    payload = batch(*[KILOBYTE] * 11)
    for wide, narrow in pairwise(ladder):
        for tight in (wide, narrow):
            rates = {each: {"producer_byte_rate": 1.0 if each == tight else 1e9} for each in (wide, narrow)}
            settle(probe, rates)
            response = Client(probe, name).exchange(produce(topic, payload), 9)
            probe.write(
                wide=listed(wide), narrow=listed(narrow), tight=listed(tight), throttled=response["throttleTimeMs"] > 0
            )
        settle(probe, {wide: {}, narrow: {}})


@case()
def a_client_without_an_id(probe: Probe) -> None:
    topic = probe.topic(retention_ms="-1")
    payload = batch(*[KILOBYTE] * 11)
    for entity in ((("client-id", None),), (("user", ANONYMOUS),), (("user", ANONYMOUS), ("client-id", None))):
        settle(probe, {entity: {"producer_byte_rate": 1.0}})
        for client_id in (None, ""):
            response = Client(probe, client_id).exchange(produce(topic, payload), 9)
            probe.write(entity=listed(entity), client_id=client_id, throttled=response["throttleTimeMs"] > 0)
        settle(probe, {entity: {}})


@case()
def other_values_than_numbers_above_0(probe: Probe) -> None:
    topic = probe.topic(retention_ms="-1")
    payload = batch(*[KILOBYTE] * 11)
    for number, rate in enumerate((float("nan"), 1e18, 1.0)):
        client_id = f"{probe.name}-{number}"
        settle(probe, {client_entity(client_id): {"producer_byte_rate": rate}})
        Client(probe, client_id).shows(produce(topic, payload), 9, note=str(rate))
        settle(probe, {client_entity(client_id): {}})


@case()
def a_quota_that_is_raised_or_removed(probe: Probe) -> None:
    topic = probe.topic(retention_ms="-1")
    payload = batch(*[KILOBYTE] * 11)
    for number, after in enumerate(({"producer_byte_rate": 1e9}, {}, {"consumer_byte_rate": 1.0})):
        client_id = f"{probe.name}-{number}"
        settle(probe, {client_entity(client_id): {"producer_byte_rate": 1.0}})
        first = Client(probe, client_id).exchange(produce(topic, payload), 9)
        settle(probe, {client_entity(client_id): after})
        second = Client(probe, client_id).exchange(produce(topic, payload), 9)
        probe.write(after=after, first=first["throttleTimeMs"] > 0, second=second["throttleTimeMs"])
        settle(probe, {client_entity(client_id): {}})


def send_create(client: Client, version: int, *topics: Any, validate_only: bool = False, note: str = "") -> None:
    """Create topics and write down the errors, and whether the client is throttled."""
    request = CreateTopicsRequest(topics=list(topics), timeout_ms=10_000, validate_only=validate_only)
    response = client.exchange(request, version)
    errors = [[each["name"], each["errorCode"], each.get("errorMessage")] for each in response["topics"]]
    throttled = response["throttleTimeMs"] > 0
    client.probe.write(version=version, errors=errors, throttled=throttled, note=note)


@case()
def mutations_over_their_quota(probe: Probe) -> None:
    for version in (5, 6, 7):
        client_id = f"{probe.name}-{version}"
        settle(probe, {client_entity(client_id): {"controller_mutation_rate": 0.1}})

        def named(number: int, version: int = version) -> str:
            return f"{probe.name}-{version}-{number}"

        # The bucket holds 1.1: a request that finds it not below zero may take any amount.
        send_create(Client(probe, client_id), version, new(named(0), 3), note="takes more than there is")
        send_create(Client(probe, client_id), version, new(named(1)), new(named(2)), note="finds it empty")
        send_create(Client(probe, client_id), version, new("a b"), new(named(0)), new(named(3)), note="errors too")
        send_create(Client(probe, client_id), version, new(named(4)), validate_only=True, note="validates")
        send_create(Client(probe, client_id), version, new("a b"), note="only errors")
        settle(probe, {client_entity(client_id): {}})


@case()
def mutations_of_a_muted_connection(probe: Probe) -> None:
    client_id = probe.name
    settle(probe, {client_entity(client_id): {"controller_mutation_rate": 1.0}})
    client = Client(probe, client_id)
    send_create(client, 7, new(f"{probe.name}-a", 15), note="four more than there are")
    client.is_mute(within_s=SERVED_SECONDS)
    send_create(client, 7, new(f"{probe.name}-b", 1), note="after a while")
    client.is_mute()
    settle(probe, {client_entity(client_id): {}})


@case()
def deletions_over_their_quota(probe: Probe) -> None:
    topics = [probe.topic(str(number), partitions=2) for number in range(6)]
    for first, version in ((0, 4), (3, 5)):
        client_id = f"{probe.name}-{version}"
        settle(probe, {client_entity(client_id): {"controller_mutation_rate": 0.1}})
        for group in (topics[first : first + 1], [*topics[first + 1 : first + 3], "nowhere"]):
            request = DeleteTopicsRequest(topic_names=list(group), timeout_ms=10_000)
            response = Client(probe, client_id).exchange(request, version)
            # Listed in the order of the topics' random ids.
            errors = sorted(
                [each["name"], each["errorCode"], each.get("errorMessage")] for each in response["responses"]
            )
            probe.write(version=version, errors=errors, throttled=response["throttleTimeMs"] > 0)
        settle(probe, {client_entity(client_id): {}})


@case()
def new_partitions_over_their_quota(probe: Probe) -> None:
    topics = [probe.topic(str(number)) for number in range(4)]
    for first, version in ((0, 2), (2, 3)):
        client_id = f"{probe.name}-{version}"
        settle(probe, {client_entity(client_id): {"controller_mutation_rate": 0.1}})
        for name, count in ((topics[first], 4), (topics[first + 1], 2), (topics[first], 4), (topics[first], 1)):
            wanted = [CreatePartitionsTopic(name=name, count=count, assignments=None)]
            request = CreatePartitionsRequest(topics=wanted, timeout_ms=10_000)
            response = Client(probe, client_id).exchange(request, version)
            errors = [[each["name"], each["errorCode"], each.get("errorMessage")] for each in response["results"]]
            probe.write(version=version, errors=errors, throttled=response["throttleTimeMs"] > 0)
        settle(probe, {client_entity(client_id): {}})


@case()
def mutation_quotas_that_return(probe: Probe) -> None:
    """The bucket of a client outlives its quota: it stays below zero, until a request without a quota fills it."""
    client_id = probe.name
    entity = client_entity(client_id)
    settle(probe, {entity: {"controller_mutation_rate": 0.1}})
    send_create(Client(probe, client_id), 7, new(f"{probe.name}-a", 25), note="more than there are")
    for number, without_quota in enumerate((False, True)):
        settle(probe, {entity: {}})
        if without_quota:
            send_create(Client(probe, client_id), 7, new(f"{probe.name}-b"), note="without a quota")
        settle(probe, {entity: {"controller_mutation_rate": 0.1}})
        send_create(Client(probe, client_id), 7, new(f"{probe.name}-c{number}"), note="the quota is back")
    settle(probe, {entity: {}})

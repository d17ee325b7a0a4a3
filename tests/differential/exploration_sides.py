"""Two brokers that receive the same requests: what is sent to each, and their responses, made comparable.

A shot is one frame on a connection of its own. Ids that each side gives itself (topics, producers, fetch sessions)
stand in it as markers, which each side replaces by its own before it sends.
"""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.kafka_apis import HANDLERS
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import ProtocolError
from protocol_specs.framing import decode_response
from protocol_specs.json_form import to_json
from protocol_specs.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol_specs.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol_specs.messages.delete_topics import DeleteTopicsRequest
from protocol_specs.registry import request_type, response_type
from protocol_specs.uuids import METADATA_TOPIC_UUID, ZERO_UUID, from_text
from tests.differential.cases.cluster import placed
from tests.differential.cases.describe_configs import OF_THE_MACHINE
from tests.differential.cases.describe_log_dirs import named as named_log_dirs
from tests.differential.cases.describe_quorum import steady
from tests.differential.cases.find_coordinator import GROUP, TRANSACTION, await_coordinator
from tests.differential.cases.init_producer_id import await_ids
from tests.differential.cases.telemetry import named as named_telemetry
from tests.differential.probe import Connection, Probe
from tests.differential.requests import batch, fill, idempotent, timed

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS: Final = 1.5
"""The timeout of a response."""

PATIENT_SECONDS: Final = 8.0
"""The timeout when the other side has responded: a real controller is slow at times."""

BROKER_LOGGER: Final = 8
FETCH, METADATA, API_VERSIONS, DESCRIBE_CONFIGS, DESCRIBE_LOG_DIRS, DESCRIBE_QUORUM = 1, 3, 18, 32, 35, 55
TELEMETRY: Final = (71, 72)

SESSION_MARKER: Final = 0x5E551D01
PRODUCER_ID: Final = 4_242
"""The producer that `prepare` lets write: any id may be used without being issued."""

FRESH_TOPICS: Final = 60
CREATED_AT_ONCE: Final = 10
TOPICS: Final = {
    "data": ([1, 2, 3],),
    "wide": ([2, 3], [3, 1], [1, 2]),
    "compact": ([2, 1],),
    "appendtime": ([1],),
    "trimmed": ([1, 2], [2, 1]),
    "small": ([1, 3],),
    "gone": ([1],),
}
"""Ends of topics' names -> replicas of each partition, where there are three brokers; on one, all are its."""

CONFIGS: Final = {
    "compact": {"cleanup_policy": "compact"},
    "appendtime": {"message_timestamp_type": "LogAppendTime"},
    "small": {"max_message_bytes": "200"},
}


def marker(suffix: str) -> bytes:
    """Return the placeholder of a topic's id, by the end of its name."""
    return f"id of {suffix}".encode().ljust(16, b".")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """Bytes for a new connection, size included, and what they are meant to be."""

    api_key: int
    version: int
    data: bytes
    note: str
    broker: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response of one side: in the order of the wire, and with the lists that have no order sorted."""

    ordered: Any
    sorted: Any


class Side:
    """One broker, and the ids that it gave to the topics of the exploration."""

    def __init__(self, bootstrap: str, release: str, name: str, *, on_controller: bool = False) -> None:
        self.probe = Probe(bootstrap, release=release, name=name)
        self._listener = "CONTROLLER" if on_controller else None
        self._ids: dict[bytes, bytes] = {}
        self._session_id = 0

    def prepare(self) -> None:
        """Make the topics that the shots speak of."""
        probe = self.probe
        for suffix, replicas in TOPICS.items():
            configs = CONFIGS.get(suffix, {}) | {"retention_ms": "-1"}
            if len(probe.addresses) > 1:
                self._ids[marker(suffix)] = placed(probe, suffix, *replicas, **configs)[1]
            else:
                name = probe.topic(suffix, partitions=len(replicas), **configs)
                self._ids[marker(suffix)] = self._made(name, len(replicas))
        for suffix in ("data", "trimmed", "appendtime"):
            name = f"{probe.name}-{suffix}"
            fill(probe, name, batch(b"a"), batch(b"b", b"c"), timed(1, 2, 3), idempotent(PRODUCER_ID, 0, 0))
        trimmed = DeleteRecordsTopic(
            name=f"{probe.name}-trimmed", partitions=[DeleteRecordsPartition(partition_index=0, offset=2)]
        )
        probe.quiet(DeleteRecordsRequest(topics=[trimmed], timeout_ms=5_000), 1)
        probe.quiet(DeleteTopicsRequest(topic_names=[f"{probe.name}-gone"], timeout_ms=5_000), 5)
        fresh = [f"fresh{number}" for number in range(FRESH_TOPICS)]
        if len(probe.addresses) > 1:
            self._ids |= {marker(suffix): placed(probe, suffix, [1, 2], [2, 3])[1] for suffix in fresh}
        else:
            for first in range(0, FRESH_TOPICS, CREATED_AT_ONCE):
                self._make_all(fresh[first : first + CREATED_AT_ONCE])
        await_coordinator(probe, GROUP)
        await_coordinator(probe, TRANSACTION)
        await_ids(probe)

    def _made(self, name: str, partitions: int) -> bytes:
        return self.probe.await_topic(name, partitions).topics[0].topic_id

    def _make_all(self, suffixes: list[str]) -> None:
        topics = [
            CreatableTopic(
                name=f"{self.probe.name}-{suffix}",
                num_partitions=2,
                replication_factor=1,
                configs=[CreatableTopicConfig(name="retention.ms", value="-1")],
            )
            for suffix in suffixes
        ]
        self.probe.quiet(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 5)
        for suffix in suffixes:
            self._ids[marker(suffix)] = self._made(f"{self.probe.name}-{suffix}", 2)

    def fire(self, shot: Shot, *, seconds: float = SECONDS) -> Response:
        """Send a shot; return what came back within these seconds."""
        data = shot.data
        for marked, topic_id in self._ids.items():
            data = data.replace(marked, topic_id)
        data = data.replace(struct.pack(">i", SESSION_MARKER), struct.pack(">i", self._session_id))
        connection = Connection(self.probe.address_of(shot.broker, self._listener))
        try:
            connection.send(data)
            frame = connection.receive(seconds)
        finally:
            connection.close()
        return Response(ordered=frame, sorted=frame) if isinstance(frame, str) else self._shown(shot, frame)

    def _shown(self, shot: Shot, frame: bytes) -> Response:
        if shot.api_key < 0:
            return Response(ordered=frame.hex(), sorted=frame.hex())
        for version in (shot.version, 0) if shot.api_key == API_VERSIONS else (shot.version,):
            try:
                message = decode_response(response_type(shot.api_key), version, frame)[1]
            except (ProtocolError, ValueError, KeyError):
                continue
            response: Any = to_json(message, version)
            if shot.api_key != API_VERSIONS or response["errorCode"] != int(ErrorCode.UNSUPPORTED_VERSION):
                break
        else:
            return Response(ordered=frame.hex(), sorted=frame.hex())
        if shot.api_key == FETCH and response.get("sessionId"):
            self._session_id = response["sessionId"]
        self._learn(response)
        steadied = _STEADIED.get(shot.api_key, _as_it_is)(response)
        normaliser = self.probe.normaliser
        return Response(
            ordered=normaliser.normalise(steadied, ordered=True),
            sorted=_sorted(normaliser.normalise(steadied)),
        )

    def _learn(self, value: Any) -> None:
        """Learn the id of every topic that a response names."""
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            self._learn(item)
        if isinstance(value, dict):
            name = value.get("name") or value.get("topicName")
            topic_id = value.get("topicId")
            if (
                name
                and topic_id
                and not value.get("errorCode")
                and from_text(topic_id) not in (ZERO_UUID, METADATA_TOPIC_UUID)
            ):
                self.probe.normaliser.know_topic(name, from_text(topic_id))


def _as_it_is(response: Any) -> Any:
    return response


def _sorted(value: Any) -> Any:
    """Return the response with every list of structs sorted."""
    if isinstance(value, dict):
        return {name: _sorted(item) for name, item in value.items()}
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=json.dumps) if value and isinstance(value[0], dict) else value
    return value


def _without_controller(response: Any) -> Any:
    """Brokers name any broker that lives."""
    return response | {"controllerId": response["controllerId"] > 0} if "controllerId" in response else response


def _of_any_cluster(response: Any) -> Any:
    text = response.get("errorMessage") or ""
    text = re.sub(r"(set of voters .*directoryId=)[^)]*", r"\1<id>", text)
    return response | {"errorMessage": re.sub(r'cluster id ".*"', "cluster id <id>", text)}


def _of_served(response: Any) -> Any:
    return response | {"apiKeys": [each for each in response["apiKeys"] if each["apiKey"] in HANDLERS.served]}


def _of_any_machine(response: Any) -> Any:
    for each in response["results"]:
        if each["resourceType"] == BROKER_LOGGER:
            each["configs"] = "<loggers>" if each["configs"] else []
            continue
        each["configs"] = [config for config in each["configs"] if config["name"] not in OF_THE_MACHINE]
    return response


_STEADIED: Final[dict[int, Callable[[Any], Any]]] = {
    METADATA: _without_controller,
    ApiKey.DESCRIBE_CLUSTER: _without_controller,
    80: _of_any_cluster,
    81: _of_any_cluster,
    API_VERSIONS: _of_served,
    DESCRIBE_CONFIGS: _of_any_machine,
    DESCRIBE_LOG_DIRS: named_log_dirs,
    DESCRIBE_QUORUM: steady,
    **dict.fromkeys(TELEMETRY, named_telemetry),
}


def framed_request(api_key: int, version: int, body: bytes, *, client_id: str | None = "probe") -> bytes:
    """A whole frame around a body, with the header that the version has."""
    request = request_type(api_key)
    flexible = version in request.VERSIONS and request.is_flexible(version)
    client = b"\xff\xff" if client_id is None else struct.pack(">h", len(client_id)) + client_id.encode()
    head = struct.pack(">hhi", api_key, version, 1) + client + (b"\0" if flexible else b"")
    return struct.pack(">i", len(head) + len(body)) + head + body

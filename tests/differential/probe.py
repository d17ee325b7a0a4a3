"""What a case holds: connections to a cluster, mostly to its first broker, and a transcript.

A case is a function of a Probe. Everything that it asks is written down, with volatile values replaced (`normalise`),
so that the transcripts of two brokers can be compared, and a real broker's can be kept.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from threading import Event
from typing import TYPE_CHECKING, Any

from protocol_specs import releases
from protocol_specs.api_key import ApiKey
from protocol_specs.framing import FrameReader, decode_response, encode_request
from protocol_specs.json_form import from_json, to_json
from protocol_specs.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol_specs.messages.headers import response_header_version
from protocol_specs.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from protocol_specs.registry import request_type, response_type
from tests.differential.normalise import Normaliser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from protocol_specs.message import Message
    from tests.differential.nodes import Nodes

ANSWER_SECONDS = 10.0
ASK_AGAIN_SECONDS = 0.02
SILENCE_SECONDS = 1.0
CLOSED = "connection closed"
SILENT = "no answer"

__all__ = ["CLOSED", "SILENT", "Connection", "Probe", "attempts"]


def attempts(awaited: str, *, seconds: float = ANSWER_SECONDS) -> Iterator[None]:
    """One turn each time something may be asked again, until the loop is left; an error when that takes too long.

    A real broker tells nobody when it is ready: who has to know asks again, with a pause that it can use.
    """
    deadline = time.monotonic() + seconds
    pause = Event()
    while time.monotonic() < deadline:
        yield
        pause.wait(ASK_AGAIN_SECONDS)
    raise AssertionError(f"{awaited}: not within {seconds} s")


class Connection:
    """A socket that speaks frames; it notices that the peer has closed."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, ANSWER_SECONDS)
        self._reader = FrameReader(limit_bytes=1 << 30, option="probe")
        self._frames: list[bytes] = []
        self.closed = False

    def send(self, data: bytes) -> None:
        """Send bytes as they are; a peer that has closed is noticed when the answer is awaited."""
        with contextlib.suppress(OSError):
            self._socket.sendall(data)

    def receive(self, seconds: float) -> bytes | str:
        """The next frame, CLOSED, or SILENT after `seconds`."""
        deadline = time.monotonic() + seconds
        while not self._frames:
            left = deadline - time.monotonic()
            if left <= 0:
                return SILENT
            self._socket.settimeout(left)
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                return SILENT
            except OSError:
                data = b""
            if not data:
                self.closed = True
                return CLOSED
            self._frames.extend(self._reader.receive(data))
        return self._frames.pop(0)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class Probe:
    """One case's view of one broker. `name` makes topic names that no other case uses."""

    def __init__(self, bootstrap: str, *, release: str, name: str, nodes: Nodes | None = None) -> None:
        servers, *further = bootstrap.split(";")
        pairs = [server.rsplit(":", 1) for server in servers.split(",")]
        self.addresses = {number: (host, int(port)) for number, (host, port) in enumerate(pairs, 1)}
        self.address = self.addresses[1]
        self._further = {place: int(port) for place, _, port in (text.partition("=") for text in further)}
        """The ports of further listeners, by `BROKER@NAME`."""
        self.release = release
        self.name = name
        self._nodes = nodes
        self.transcript: list[dict[str, Any]] = []
        self.normaliser = Normaliser()
        self._connection: Connection | None = None
        self._others: list[Connection] = []
        self._correlation_id = 0

    @property
    def nodes(self) -> Nodes:
        """The brokers' processes."""
        assert self._nodes is not None, f"{self.name}: nobody holds the brokers' processes"
        return self._nodes

    def address_of(self, broker: int, listener: str | None = None) -> tuple[str, int]:
        """Where a broker listens, or a further listener of it."""
        host, port = self.addresses[broker]
        return host, port if listener is None else self._further[f"{broker}@{listener}"]

    def connect(self, broker: int = 1, *, listener: str | None = None) -> Connection:
        """A connection of its own to a broker, by a further listener if one is named, closed at the end of the case."""
        address = self.address_of(broker, listener)
        for _ in attempts(f"broker {broker} to listen"):
            with contextlib.suppress(ConnectionRefusedError):
                connection = Connection(address)
                break
        self._others.append(connection)
        return connection

    def topic(self, suffix: str = "t", *, partitions: int = 1, **config: str) -> str:
        """Create a topic of this case's own (underscores in a config's name mean dots); wait until it has leaders."""
        name = f"{self.name}-{suffix}"
        configs = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in config.items()]
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=configs)
        created = self.quiet(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
        assert isinstance(created, CreateTopicsResponse), created
        assert created.topics[0].error_code == 0, created
        self.await_topic(name, partitions)
        return name

    def await_topic(self, name: str, partitions: int = 1) -> MetadataResponse:
        """Wait until every partition of a topic has a leader; learn the topic's id."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
            metadata = self.quiet(request, 12)
            assert isinstance(metadata, MetadataResponse), metadata
            found = metadata.topics[0]
            if len(found.partitions) == partitions and all(p.leader_id >= 0 for p in found.partitions):
                self.normaliser.know_topic(name, found.topic_id)
                if self._leads(name, [each.partition_index for each in found.partitions if each.leader_id == 1]):
                    return metadata
            assert time.monotonic() < deadline, f"{name} has no leaders after {ANSWER_SECONDS} s: {metadata}"

    def _leads(self, name: str, partitions: list[int]) -> bool:
        """Whether the broker has become the leader: its metadata may tell so before its log is there."""
        if not partitions:
            return True
        wanted = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in partitions]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=wanted)])
        answer = self.quiet(request, 1)
        assert isinstance(answer, ListOffsetsResponse), answer
        return all(partition.error_code == 0 for partition in answer.topics[0].partitions)

    def topic_id(self, name: str) -> bytes:
        """The id of a topic that exists."""
        return self.await_topic(name, len(self._partitions(name))).topics[0].topic_id

    def _partitions(self, name: str) -> list[Any]:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        metadata = self.quiet(request, 12)
        assert isinstance(metadata, MetadataResponse)
        return metadata.topics[0].partitions

    def quiet(self, request: Message, version: int, *, on: Connection | None = None) -> Message | str:
        """Ask without writing it down: for preparations."""
        return self._exchange(request, version, on or self._main(), ANSWER_SECONDS)

    def ask(
        self,
        request: Message,
        version: int,
        *,
        on: Connection | None = None,
        seconds: float = ANSWER_SECONDS,
        note: str = "",
        only: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Ask and write down what `only` leaves of the answer's JSON form; answer the response, CLOSED or SILENT."""
        answer = self._exchange(request, version, on or self._main(), seconds)
        shown = answer if isinstance(answer, str) else self._shown(to_json(answer, version), only)
        entry: dict[str, Any] = {"api": request.NAME, "version": version, "answer": shown}
        self.transcript.append(entry | ({"note": note} if note else {}))
        return answer

    def _shown(self, answer: Any, only: Callable[[Any], Any] | None = None) -> Any:
        return self.normaliser.normalise(answer if only is None else only(answer))

    def expect_silence(self, request: Message, version: int, *, on: Connection | None = None, note: str = "") -> None:
        """Ask what may never be answered, and write down what came within a second."""
        self.ask(request, version, on=on, seconds=SILENCE_SECONDS, note=note)

    def raw(self, frame: bytes, *, note: str, sized: bool = True, seconds: float = ANSWER_SECONDS) -> bytes | str:
        """Send bytes as a frame (with `sized=False`: as they are) on a new connection; write down the answer's hex."""
        connection = self.connect()
        connection.send(struct.pack(">i", len(frame)) + frame if sized else frame)
        answer = connection.receive(seconds)
        shown = answer if isinstance(answer, str) else answer.hex()
        self.transcript.append({"raw": note, "answer": shown})
        return answer

    def raw_body(
        self,
        api_key: int,
        version: int,
        body: bytes,
        *,
        note: str,
        seconds: float = ANSWER_SECONDS,
        header: bytes | None = None,
        only: Callable[[Any], Any] | None = None,
        listener: str | None = None,
    ) -> Any:
        """Send any bytes as the body of a request on a new connection; write down the answer.

        `header` is what follows the correlation id: by default a right one of client id "probe".
        """
        request = request_type(api_key)
        if header is None:
            flexible = version in request.VERSIONS and request.is_flexible(version)
            header = b"\0\5probe" + (b"\0" if flexible else b"")
        frame = struct.pack(">hhi", api_key, version, 1) + header + body
        connection = self.connect(listener=listener)
        connection.send(struct.pack(">i", len(frame)) + frame)
        answer = connection.receive(seconds)
        shown: Any = answer
        if isinstance(answer, bytes):
            response = response_type(api_key)
            decoded = self._answered_version(api_key, version)
            shown = self._shown(to_json(decode_response(response, decoded, answer)[1], decoded), only)
        self.transcript.append({"api": request.NAME, "version": version, "body": note, "answer": shown})
        return answer

    def _answered_version(self, api_key: int, version: int) -> int:
        """The version of the answer: ApiVersions answers what the release does not know in version 0."""
        known = api_key != ApiKey.API_VERSIONS or version in releases.get(self.release).api_versions[api_key]
        return version if known else 0

    def write(self, **values: object) -> None:
        """Write down something that the case has found out itself."""
        self.transcript.append(dict(values))

    def close(self) -> None:
        """Close every connection."""
        for connection in [*self._others, *([self._connection] if self._connection else [])]:
            connection.close()

    def _main(self) -> Connection:
        if self._connection is not None and self._connection.closed:
            self._connection.close()
            self._connection = None
        if self._connection is None:
            self._connection = Connection(self.address)
        return self._connection

    def _exchange(self, request: Message, version: int, connection: Connection, seconds: float) -> Message | str:
        self._correlation_id += 1
        # What the version does not carry is left out: one request serves a case for all versions.
        request = from_json(type(request), version, to_json(request, version))
        connection.send(encode_request(request, version, correlation_id=self._correlation_id, client_id="probe"))
        answer = connection.receive(seconds)
        if isinstance(answer, str):
            return answer
        response = response_type(request.API_KEY)
        version = self._answered_version(request.API_KEY, version)
        correlation_id, message = decode_response(response, version, answer)
        assert correlation_id == self._correlation_id
        assert response_header_version(response, version) in {0, 1}
        return message

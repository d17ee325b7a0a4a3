"""What a case holds: connections to one broker, and a transcript of what it was asked and what it answered.

A case is a function of a Probe. Everything that it asks is written down, with volatile values replaced (`normalise`),
so that the transcripts of two brokers can be compared, and a real broker's can be kept.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from typing import TYPE_CHECKING, Any

from protocol_specs.framing import FrameReader, decode_response, encode_request
from protocol_specs.json_form import to_json
from protocol_specs.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol_specs.messages.headers import response_header_version
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from protocol_specs.registry import request_type, response_type
from tests.differential.normalise import Normaliser

if TYPE_CHECKING:
    from protocol_specs.message import Message

ANSWER_SECONDS = 10.0
SILENCE_SECONDS = 1.0
CLOSED = "connection closed"
SILENT = "no answer"

__all__ = ["CLOSED", "SILENT", "Connection", "Probe"]


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

    def __init__(self, bootstrap: str, *, release: str, name: str) -> None:
        host, port = bootstrap.split(",", maxsplit=1)[0].rsplit(":", 1)
        self.address = (host, int(port))
        self.release = release
        self.name = name
        self.transcript: list[dict[str, Any]] = []
        self.normaliser = Normaliser()
        self._connection: Connection | None = None
        self._others: list[Connection] = []
        self._correlation_id = 0

    def connect(self) -> Connection:
        """A connection of its own, closed at the end of the case."""
        connection = Connection(self.address)
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
                return metadata
            assert time.monotonic() < deadline, f"{name} has no leaders after {ANSWER_SECONDS} s: {metadata}"

    def topic_id(self, name: str) -> bytes:
        """The id of a topic that exists."""
        return self.await_topic(name, len(self._partitions(name))).topics[0].topic_id

    def _partitions(self, name: str) -> list[Any]:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        metadata = self.quiet(request, 12)
        assert isinstance(metadata, MetadataResponse)
        return metadata.topics[0].partitions

    def quiet(self, request: Message, version: int) -> Message | str:
        """Ask without writing it down: for preparations."""
        return self._exchange(request, version, self._main(), ANSWER_SECONDS)

    def ask(
        self,
        request: Message,
        version: int,
        *,
        on: Connection | None = None,
        seconds: float = ANSWER_SECONDS,
        note: str = "",
    ) -> Any:
        """Ask and write down; answer the response message, or CLOSED or SILENT."""
        answer = self._exchange(request, version, on or self._main(), seconds)
        shown = answer if isinstance(answer, str) else self.normaliser.normalise(to_json(answer, version))
        entry: dict[str, Any] = {"api": request.NAME, "version": version, "answer": shown}
        self.transcript.append(entry | ({"note": note} if note else {}))
        return answer

    def expect_silence(self, request: Message, version: int, *, on: Connection | None = None, note: str = "") -> None:
        """Ask what may never be answered, and write down what came within a second."""
        self.ask(request, version, on=on, seconds=SILENCE_SECONDS, note=note)

    def raw(self, frame: bytes, *, note: str, sized: bool = True, seconds: float = SILENCE_SECONDS) -> bytes | str:
        """Send bytes as a frame (with `sized=False`: as they are) on a new connection; write down the answer's hex."""
        connection = self.connect()
        connection.send(struct.pack(">i", len(frame)) + frame if sized else frame)
        answer = connection.receive(seconds)
        shown = answer if isinstance(answer, str) else answer.hex()
        self.transcript.append({"raw": note, "answer": shown})
        return answer

    def raw_body(self, api_key: int, version: int, body: bytes, *, note: str, seconds: float = SILENCE_SECONDS) -> Any:
        """Send any bytes as the body of a request with a right header, on a new connection; write down the answer."""
        request = request_type(api_key)
        header = struct.pack(">hhih", api_key, version, 1, 5) + b"probe"
        if version in request.VERSIONS and request.is_flexible(version):
            header += b"\0"
        connection = self.connect()
        frame = header + body
        connection.send(struct.pack(">i", len(frame)) + frame)
        answer = connection.receive(seconds)
        if isinstance(answer, bytes) and version in request.VERSIONS:
            _, message = decode_response(response_type(api_key), version, answer)
            shown: Any = self.normaliser.normalise(to_json(message, version))
        else:
            shown = answer if isinstance(answer, str) else answer.hex()
        self.transcript.append({"api": request.NAME, "version": version, "body": note, "answer": shown})
        return answer

    def write(self, **values: object) -> None:
        """Write down something that the case has found out itself."""
        self.transcript.append(dict(values))

    def close(self) -> None:
        """Close every connection."""
        for connection in [*self._others, *([self._connection] if self._connection else [])]:
            connection.close()

    def _main(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = Connection(self.address)
        return self._connection

    def _exchange(self, request: Message, version: int, connection: Connection, seconds: float) -> Message | str:
        self._correlation_id += 1
        connection.send(encode_request(request, version, correlation_id=self._correlation_id, client_id="probe"))
        answer = connection.receive(seconds)
        if isinstance(answer, str):
            return answer
        response = response_type(request.API_KEY)
        if request.API_KEY == 18 and version not in response.VERSIONS:
            version = 0
        correlation_id, message = decode_response(response, version, answer)
        assert correlation_id == self._correlation_id
        assert response_header_version(response, version) in {0, 1}
        return message

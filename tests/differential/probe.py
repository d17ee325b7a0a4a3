"""The probe of a case: connections to a cluster, mostly to its first broker, and a transcript.

A case is a function of a Probe. Each exchange is recorded, with volatile values replaced (`normalise`),
so that the transcripts of two brokers can be compared, and a real broker's can be kept.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from dataclasses import dataclass
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
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from protocol_specs.message import Message
    from tests.differential.nodes import Nodes

RESPONSE_SECONDS = 30.0
"""A real broker on a busy machine has been seen to be silent for twenty seconds."""
START_SECONDS = 60.0
"""A real broker starts in five seconds on an idle machine."""
RETRY_PAUSE_SECONDS = 0.02
SILENCE_SECONDS = 0.3
"""How long a request without a response is waited for, after the broker has taken it up."""
NETWORK_THREADS = 3
"""The default of num.network.threads: a broker gives new connections to its threads in turn."""
CLOSED = "connection closed"
SILENT = "no response"

__all__ = ["CLOSED", "SILENT", "Connection", "Parked", "Probe", "attempts"]


def attempts(awaited: str, *, seconds: float = RESPONSE_SECONDS) -> Iterator[None]:
    """Yield once per attempt, until the loop is left; raise AssertionError after `seconds`.

    A real broker does not report when it is ready: a caller polls, with a pause between attempts.
    """
    deadline = time.monotonic() + seconds
    pause = Event()
    while time.monotonic() < deadline:
        yield
        pause.wait(RETRY_PAUSE_SECONDS)
    raise AssertionError(f"{awaited}: not within {seconds} s")


class Connection:
    """A socket that speaks frames; it notices that the peer has closed."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, RESPONSE_SECONDS)
        self._reader = FrameReader(limit_bytes=1 << 30, option="probe")
        self._frames: list[bytes] = []
        self.closed = False

    def send(self, data: bytes) -> None:
        """Send bytes as they are; a peer that has closed is noticed by `receive`."""
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


@dataclass(frozen=True, slots=True)
class Parked:
    """A request whose response is received later, because the broker holds it back."""

    request: Message
    version: int
    connection: Connection
    correlation_id: int
    note: str


class Probe:
    """One case's view of one broker. `name` makes topic names that no other case uses.

    `expected` is the recorded transcript, if there is one: of a response that it has, no limit is shorter than
    RESPONSE_SECONDS, so that a slow machine does not look like a broker without a response.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        release: str,
        name: str,
        nodes: Nodes | None = None,
        expected: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        servers, *further = bootstrap.split(";")
        pairs = [server.rsplit(":", 1) for server in servers.split(",")]
        self.addresses = {number: (host, int(port)) for number, (host, port) in enumerate(pairs, 1)}
        self.address = self.addresses[1]
        self._further = {place: int(port) for place, _, port in (text.partition("=") for text in further)}
        """The ports of further listeners, by `BROKER@NAME`."""
        self.release = release
        self.name = name
        self._nodes = nodes
        self._expected = expected
        self.transcript: list[dict[str, Any]] = []
        self.sent: list[Any] = []
        """The request of each entry of the transcript, for reports: recordings do not hold it."""
        self.normaliser = Normaliser()
        self._connection: Connection | None = None
        self._others: list[Connection] = []
        self._correlation_id = 0
        self._markers = 0

    @property
    def nodes(self) -> Nodes:
        """The brokers' processes."""
        assert self._nodes is not None, f"{self.name}: the case has no access to the brokers' processes"
        return self._nodes

    def address_of(self, broker: int, listener: str | None = None) -> tuple[str, int]:
        """Where a broker listens, or a further listener of it."""
        host, port = self.addresses[broker]
        return host, port if listener is None else self._further[f"{broker}@{listener}"]

    def connect(self, broker: int = 1, *, listener: str | None = None) -> Connection:
        """A connection of its own to a broker, by a further listener if one is named, closed at the end of the case."""
        address = self.address_of(broker, listener)
        for _ in attempts(f"broker {broker} to listen", seconds=START_SECONDS):
            with contextlib.suppress(ConnectionRefusedError):
                connection = Connection(address)
                break
        self._others.append(connection)
        return connection

    def use(self, broker: int) -> None:
        """Send everything from now on to this broker, such as the coordinator of a group."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self.address = self.addresses[broker]

    def topic(self, suffix: str = "t", *, partitions: int = 1, **config: str | None) -> str:
        """Create a topic of this case's own (underscores in a config's name mean dots); wait until it has leaders.

        Its records stay, however old they are: a real broker looks for old ones 30 s after its start and every five
        minutes, and the times of most cases are old. A value of None leaves a configuration, such as this retention, at
        its default.
        """
        name = f"{self.name}-{suffix}"
        given = {"retention_ms": "-1"} | config
        configs = [
            CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in given.items()
            if value is not None
        ]
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=configs)
        created = self.quiet(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
        assert isinstance(created, CreateTopicsResponse), created
        assert created.topics[0].error_code == 0, created
        self.await_topic(name, partitions, topic_id=created.topics[0].topic_id)
        return name

    def await_topic(self, name: str, partitions: int = 1, *, topic_id: bytes | None = None) -> MetadataResponse:
        """Wait until every partition of a topic has a leader; learn the topic's id.

        With `topic_id`, wait for the topic of this id: the broker may still show a deleted topic of the same name.
        """
        deadline = time.monotonic() + RESPONSE_SECONDS
        while True:
            request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
            metadata = self.quiet(request, 12)
            assert isinstance(metadata, MetadataResponse), metadata
            found = metadata.topics[0]
            is_wanted = topic_id is None or found.topic_id == topic_id
            if is_wanted and len(found.partitions) == partitions and all(p.leader_id >= 0 for p in found.partitions):
                self.normaliser.know_topic(name, found.topic_id)
                if self._leads(name, [each.partition_index for each in found.partitions if each.leader_id == 1]):
                    return metadata
            assert time.monotonic() < deadline, f"{name} has no leaders after {RESPONSE_SECONDS} s: {metadata}"

    def await_applied(self, broker: int = 1) -> None:
        """Wait until a broker has applied every change of metadata that it shows already.

        A real broker shows a change before its logs and coordinators follow it, and takes changes one after another:
        when it shows a topic that is created afterwards, it has applied all that it showed before.
        """
        self._markers += 1
        name = f"applied-{self.name}-{self._markers}"
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        created = self.quiet(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
        assert isinstance(created, CreateTopicsResponse), created
        assert created.topics[0].error_code == 0, created
        connection = None if broker == 1 else self.connect(broker)
        for _ in attempts(f"broker {broker} to show topic {name!r}"):
            request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
            metadata = self.quiet(request, 12, on=connection)
            assert isinstance(metadata, MetadataResponse), metadata
            if metadata.topics[0].error_code == 0:
                return

    def _leads(self, name: str, partitions: list[int]) -> bool:
        """Return True if the broker has become the leader: its metadata may name it before its log is there."""
        if not partitions:
            return True
        wanted = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in partitions]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=wanted)])
        response = self.quiet(request, 1)
        assert isinstance(response, ListOffsetsResponse), response
        return all(partition.error_code == 0 for partition in response.topics[0].partitions)

    def topic_id(self, name: str) -> bytes:
        """The id of a topic that exists."""
        return self.await_topic(name, len(self._partitions(name))).topics[0].topic_id

    def _partitions(self, name: str) -> list[Any]:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        metadata = self.quiet(request, 12)
        assert isinstance(metadata, MetadataResponse)
        return metadata.topics[0].partitions

    def quiet(self, request: Message, version: int, *, on: Connection | None = None) -> Message | str:
        """Exchange without recording: for preparations."""
        return self._exchange(request, version, on or self._main(), RESPONSE_SECONDS)

    def exchange(
        self,
        request: Message,
        version: int,
        *,
        on: Connection | None = None,
        seconds: float = RESPONSE_SECONDS,
        note: str = "",
        only: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Exchange and record what `only` leaves of the response's JSON form; return the response, CLOSED or SILENT."""
        return self.finish(self.start(request, version, on=on, note=note), seconds=seconds, only=only)

    def start(self, request: Message, version: int, *, on: Connection | None = None, note: str = "") -> Parked:
        """Send a request whose response `finish` receives; until then its connection exchanges nothing else.

        A request that is started after it is handled as soon as its response is sent.
        """
        return self._send(request, version, on or self._main(), note)

    def park(self, request: Message, version: int, *, on: Connection | None = None, note: str = "") -> Parked:
        """Send a request as `start` does, and wait until the broker has taken it up, so that it precedes what follows.

        A broker reads connections on several threads. One exchange on each thread is behind the request or in
        the same round of reading as it; the second exchange is behind it.
        """
        parked = self.start(request, version, on=on or self.connect(), note=note)
        behind = [self.connect() for _ in range(NETWORK_THREADS)]
        for connection in behind * 2:
            self.quiet(MetadataRequest(topics=[]), 12, on=connection)
        return parked

    def finish(
        self, parked: Parked, *, seconds: float = RESPONSE_SECONDS, only: Callable[[Any], Any] | None = None
    ) -> Any:
        """Receive and record the response to a request that was sent earlier, as `exchange` does."""
        response = self._receive(parked, self._limit(seconds))
        shown = response if isinstance(response, str) else self._shown(to_json(response, parked.version), only)
        entry: dict[str, Any] = {"api": parked.request.NAME, "version": parked.version, "response": shown}
        self._record(entry | ({"note": parked.note} if parked.note else {}), parked.request)
        return response

    def keep(self, request: Message, version: int, response: Any, *, note: str) -> None:
        """Record a response that the case has received itself, in its JSON form, or what came in place of one."""
        entry = {"api": request.NAME, "version": version, "response": self._shown(response), "note": note}
        self._record(entry, request)

    def _limit(self, seconds: float) -> float:
        """Return how long the next response of the transcript may take, given how long the case waits for it."""
        place = len(self.transcript)
        is_expected = place < len(self._expected) and self._expected[place].get("response") != SILENT
        return max(seconds, RESPONSE_SECONDS) if is_expected else seconds

    def _record(self, entry: dict[str, Any], sent: Any) -> None:
        self.transcript.append(entry)
        self.sent.append(sent)

    def _shown(self, response: Any, only: Callable[[Any], Any] | None = None) -> Any:
        return self.normaliser.normalise(response if only is None else only(response))

    def expect_silence(self, request: Message, version: int, *, on: Connection | None = None, note: str = "") -> None:
        """Send a request that may get no response; record what comes, or that nothing came in SILENCE_SECONDS."""
        self.finish(self.park(request, version, on=on or self._main(), note=note), seconds=SILENCE_SECONDS)

    def raw(self, frame: bytes, *, note: str, sized: bool = True, seconds: float = RESPONSE_SECONDS) -> bytes | str:
        """Send bytes as a frame (with `sized=False`: as they are) on a new connection; record the response's hex."""
        connection = self.connect()
        connection.send(struct.pack(">i", len(frame)) + frame if sized else frame)
        response = connection.receive(self._limit(seconds))
        shown = response if isinstance(response, str) else response.hex()
        self._record({"raw": note, "response": shown}, frame.hex())
        return response

    def raw_body(
        self,
        api_key: int,
        version: int,
        body: bytes,
        *,
        note: str,
        seconds: float = RESPONSE_SECONDS,
        header: bytes | None = None,
        only: Callable[[Any], Any] | None = None,
        listener: str | None = None,
    ) -> Any:
        """Send any bytes as the body of a request on a new connection; record the response.

        `header` is what follows the correlation id: by default a right one of client id "probe".
        """
        request = request_type(api_key)
        if header is None:
            flexible = version in request.VERSIONS and request.is_flexible(version)
            header = b"\0\5probe" + (b"\0" if flexible else b"")
        frame = struct.pack(">hhi", api_key, version, 1) + header + body
        connection = self.connect(listener=listener)
        connection.send(struct.pack(">i", len(frame)) + frame)
        response = connection.receive(self._limit(seconds))
        shown: Any = response
        if isinstance(response, bytes):
            response_class = response_type(api_key)
            decoded = self._response_version(api_key, version)
            shown = self._shown(to_json(decode_response(response_class, decoded, response)[1], decoded), only)
        self._record({"api": request.NAME, "version": version, "body": note, "response": shown}, body.hex())
        return response

    def _response_version(self, api_key: int, version: int) -> int:
        """Return the version of the response: ApiVersions responds to unknown versions in version 0."""
        known = api_key != ApiKey.API_VERSIONS or version in releases.get(self.release).api_versions[api_key]
        return version if known else 0

    def write(self, **values: object) -> None:
        """Write down something that the case has found out itself."""
        self._record(dict(values), None)

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
        return self._receive(self._send(request, version, connection), seconds)

    def _send(self, request: Message, version: int, connection: Connection, note: str = "") -> Parked:
        self._correlation_id += 1
        # What the version does not carry is left out: one request serves a case for all versions.
        request = from_json(type(request), version, to_json(request, version))
        connection.send(encode_request(request, version, correlation_id=self._correlation_id, client_id="probe"))
        return Parked(request, version, connection, self._correlation_id, note)

    def _receive(self, parked: Parked, seconds: float) -> Message | str:
        response = parked.connection.receive(seconds)
        if isinstance(response, str):
            return response
        response_class = response_type(parked.request.API_KEY)
        version = self._response_version(parked.request.API_KEY, parked.version)
        correlation_id, message = decode_response(response_class, version, response)
        assert correlation_id == parked.correlation_id
        assert response_header_version(response_class, version) in {0, 1}
        return message

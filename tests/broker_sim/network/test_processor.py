from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from broker_sim.apis.handler_result import NoResponse
from broker_sim.control.events import ConnectionClosed, ConnectionOpened, Detail, RequestReceived, ResponseSent
from broker_sim.network import channel as channel_module
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.api_versions import ApiVersion, ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = struct.Struct(">hhih")
ACCEPTED = [
    ("no client id", HEADER.pack(18, 0, 9, -1)),
    ("a client id that is not UTF-8", HEADER.pack(18, 0, 9, 2) + b"\xff\xfe"),
    ("bytes after the body", HEADER.pack(18, 0, 9, -1) + b"more"),
]
REFUSED = [
    ("an unknown API", HEADER.pack(999, 0, 9, -1)),
    ("an API that is not served", HEADER.pack(11, 0, 9, -1)),
    ("a negative API key", HEADER.pack(-1, 0, 9, -1)),
    ("a version above the highest", HEADER.pack(3, 99, 9, -1)),
    ("a negative version", HEADER.pack(3, -1, 9, -1)),
    ("a version below the lowest", HEADER.pack(1, 3, 9, -1)),
    ("a Produce version that is listed but not taken", HEADER.pack(0, 2, 9, -1) + struct.pack(">hii", 1, 100, 0)),
    ("a header that ends early", HEADER.pack(18, 0, 9, -1)[:7]),
    ("an empty frame", b""),
    ("a client id longer than the frame", HEADER.pack(18, 0, 9, 99)),
    ("a body that ends early", HEADER.pack(18, 3, 9, -1) + b"\0\x02a"),
    ("a null string that may not be null", HEADER.pack(18, 3, 9, -1) + b"\0\0\0\0"),
    ("a null array that may not be null", HEADER.pack(0, 3, 9, -1) + struct.pack(">hhii", -1, 1, 100, -1)),
    ("an array longer than the frame", HEADER.pack(0, 3, 9, -1) + struct.pack(">hhii", -1, 1, 100, 1 << 30)),
    ("ApiVersions of an unknown version without its tags", HEADER.pack(18, 127, 9, -1)),
]
SIZES = [b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", struct.pack(">i", 104_857_601)]


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def test_requests_of_one_read_get_responses_in_order(bench: Any, client: Any) -> None:
    client.exchange(1, 2, 3)
    bench.run()
    assert client.correlation_ids == [1, 2, 3]


@pytest.mark.parametrize("detail", list(Detail))
@pytest.mark.parametrize("version", [5, 127])
def test_api_versions_of_a_version_that_is_not_served_gets_the_oldest_response(
    make_bench: Callable[..., Any], detail: Detail, version: int
) -> None:
    bench = make_bench(detail)
    client = bench.connect()
    for correlation_id in (1, 2):
        client.transport.write(framed(HEADER.pack(18, version, correlation_id, -1) + b"\0"))
        bench.run()
    client.exchange(3)
    bench.run()
    assert client.correlation_ids == [1, 2, 3]
    errors = [ApiVersionsResponse.decode(0, frame[4:]).error_code for frame in client.frames]
    assert errors == [ErrorCode.UNSUPPORTED_VERSION, ErrorCode.UNSUPPORTED_VERSION, ErrorCode.NONE]


def test_a_connection_has_one_request_in_the_broker(bench: Any, client: Any) -> None:
    pending: list[Deferred[Any]] = []

    def hold(_request: Any, _context: Any) -> Deferred[Any]:
        pending.append(Deferred())
        return pending[-1]

    bench.apis.handler = hold
    client.exchange(1, 2)
    bench.run()
    assert [context.correlation_id for context in bench.apis.contexts] == [1]
    pending[0].callback(ApiVersionsResponse())
    bench.run()
    assert [context.correlation_id for context in bench.apis.contexts] == [1, 2]
    assert client.correlation_ids == [1]


def test_other_connections_go_on_while_one_waits(bench: Any, client: Any) -> None:
    response, other = bench.apis.handler, bench.connect()
    bench.apis.handler = lambda request, context: (
        Deferred() if context.correlation_id == 1 else response(request, context)
    )
    client.exchange(1)
    other.exchange(2)
    bench.run()
    assert (client.correlation_ids, other.correlation_ids) == ([], [2])


@pytest.mark.parametrize(("name", "body"), ACCEPTED)
def test_oddities_that_kafka_accepts_get_a_response(bench: Any, client: Any, name: str, body: bytes) -> None:
    client.transport.write(framed(body))
    bench.run()
    assert client.correlation_ids == [9], name


@pytest.mark.parametrize(("name", "body"), REFUSED)
def test_what_cannot_be_understood_closes_the_connection(bench: Any, client: Any, name: str, body: bytes) -> None:
    client.transport.write(framed(body))
    bench.run()
    assert (client.closed, client.received) == (True, b""), name
    assert len(bench.reasons) == 1
    assert client.transport.getHost().host in bench.logged[-1]["connection_id"], "the log line names the peer"
    survivor = bench.connect()
    survivor.exchange(5)
    bench.run()
    assert survivor.correlation_ids == [5]


@pytest.mark.parametrize("size", SIZES)
def test_a_size_that_cannot_be_believed_closes_the_connection(bench: Any, client: Any, size: bytes) -> None:
    client.transport.write(size)
    bench.run()
    assert client.closed
    assert len(bench.reasons) == 1


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (framed(HEADER.pack(3, 99, 9, -1)), "(Metadata v99 is not served: expected v0 to v13)"),
        (b"GET / HTTP/1.1\r\n", "the client speaks HTTP: this is a listener for Kafka's protocol"),
    ],
)
def test_the_reason_names_a_version_that_is_not_served_and_a_foreign_protocol(
    bench: Any, client: Any, sent: bytes, reason: str
) -> None:
    client.transport.write(sent)
    bench.run()
    assert reason in bench.reasons[0]


def test_good_requests_before_a_bad_size_get_responses_first(bench: Any, client: Any) -> None:
    pending: Deferred[Any] = Deferred()
    bench.apis.handler = lambda _request, _context: pending
    client.exchange(1)
    client.transport.write(b"\xff\xff\xff\xff")
    bench.run()
    assert not client.closed
    pending.callback(ApiVersionsResponse())
    bench.run()
    assert (client.correlation_ids, client.closed) == ([1], True)


@pytest.mark.parametrize("header", [HEADER.pack(18, 127, 9, -1) + b"\0", HEADER.pack(18, -1, 9, -1)])
def test_an_unknown_version_of_api_versions_gets_the_oldest_layout(bench: Any, client: Any, header: bytes) -> None:
    client.transport.write(framed(header))
    bench.run()
    assert client.frames == [struct.pack(">ihihhh", 9, 35, 1, 18, 0, 4)]


def test_no_response_lets_the_channel_read_on(bench: Any, client: Any) -> None:
    response = bench.apis.handler
    bench.apis.handler = lambda request, context: (
        NoResponse.NO_OP if context.correlation_id == 1 else response(request, context)
    )
    client.exchange(1, 2)
    bench.run()
    assert client.correlation_ids == [2]


def test_a_request_without_a_response_keeps_its_connection_open_and_muted(bench: Any, client: Any) -> None:
    bench.apis.handler = lambda _request, _context: NoResponse.STAY_MUTED
    client.exchange(1, 2)
    bench.run(60_000)
    assert (client.closed, len(bench.apis.contexts)) == (False, 1)
    client.transport.loseConnection()
    bench.run()
    assert bench.server.connections == 0


def test_a_handler_may_close_the_connection(bench: Any, client: Any) -> None:
    bench.apis.handler = lambda _request, context: context.disconnect("as the test wants it")
    client.exchange(1, 2)
    bench.run()
    assert (client.closed, len(bench.apis.contexts), bench.reasons) == (True, 1, ["as the test wants it"])


def test_requests_of_a_peer_that_has_gone_are_served_one_by_one(bench: Any, client: Any) -> None:
    pending: list[Deferred[Any]] = []

    def hold(_request: Any, _context: Any) -> Deferred[Any]:
        pending.append(Deferred())
        return pending[-1]

    bench.apis.handler = hold
    client.exchange(1, 2, 3)
    client.transport.loseConnection()
    for served in range(1, 4):
        bench.run()
        assert len(pending) == served
        assert bench.server.connections == 1
        pending[-1].callback(NoResponse.NO_OP)
    bench.run()
    assert bench.server.connections == 0


def test_a_muted_channel_stops_reading_and_reads_on_later(
    bench: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_module, "MUTED_BUFFER_LIMIT_BYTES", 1000)
    pending: list[Deferred[Any]] = []

    def hold(_request: Any, _context: Any) -> Deferred[Any]:
        pending.append(Deferred())
        return pending[-1]

    bench.apis.handler = hold
    bodies = HEADER.pack(18, 0, 7, -1) + bytes(500)
    client.transport.write(framed(bodies) * 400)
    bench.run(100)
    channel = next(iter(bench.server.processors[0].channels))
    assert not channel._reading
    for _ in range(400):
        pending[-1].callback(ApiVersionsResponse())
        bench.run(1)
    bench.run()
    assert len(client.frames) == 400
    assert channel._reading


def test_a_client_that_does_not_read_its_response_stays_muted(bench: Any, client: Any) -> None:
    large = ApiVersionsResponse(api_keys=[ApiVersion(api_key=index % 99) for index in range(100_000)])
    bench.apis.handler = lambda _request, _context: large
    bench.world.network.link("broker-1", "client").hold()
    client.exchange(1, 2, 3)
    bench.run(100)
    assert len(bench.apis.contexts) == 1
    bench.world.network.link("broker-1", "client").release()
    bench.run(1000)
    assert client.correlation_ids == [1, 2, 3]


def test_the_journal_has_the_connection_and_the_request(bench: Any, client: Any) -> None:
    client.exchange(7)
    bench.run()
    client.transport.loseConnection()
    bench.run()
    kinds = [type(event) for event in bench.broker.journal.events]
    assert kinds == [ConnectionOpened, RequestReceived, ResponseSent, ConnectionClosed]
    received, sent = bench.broker.journal.events[1:3]
    assert (received.api, received.request_id) == ("ApiVersions", sent.request_id)
    assert sent.total_us == 0


def test_the_time_in_the_purgatory_is_remote_time(bench: Any, client: Any) -> None:
    pending: Deferred[Any] = Deferred()
    bench.apis.handler = lambda _request, _context: pending
    client.exchange(7)
    bench.run(5)
    bench.world.reactor.callLater(0.020, pending.callback, ApiVersionsResponse())
    bench.run(50)
    [sent] = bench.broker.journal.events_of(ResponseSent)
    assert 20_000 <= sent.remote_us == sent.total_us


def test_an_idle_connection_is_closed_and_a_busy_one_is_not(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(connections_max_idle_ms="1000")
    idle, busy = bench.connect(), bench.connect()
    for correlation_id in range(5):
        busy.exchange(correlation_id)
        bench.run(400)
    assert (idle.closed, busy.closed) == (True, False)
    bench.run(2000)
    assert busy.closed


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.builds(framed, st.binary(max_size=60)),
            st.builds(
                lambda key, version, rest: framed(HEADER.pack(key, version, 1, -1) + rest),
                st.integers(-2, 100),
                st.integers(-2, 20),
                st.binary(max_size=80),
            ),
        ),
        max_size=4,
    )
)
def test_garbage_never_hurts_the_next_client(make_bench: Callable[..., Any], data: list[bytes]) -> None:
    bench = make_bench()
    hostile = bench.connect()
    for piece in data:
        hostile.transport.write(piece)
        bench.run(1)
    survivor = bench.connect()
    survivor.exchange(5)
    bench.run()
    assert survivor.correlation_ids == [5]


def test_of_idle_connections_one_a_poll_is_closed_the_oldest_first(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(connections_max_idle_ms="1000", num_network_threads="1")
    first, second, third = (bench.connect() for _ in range(3))
    bench.run(1000)
    assert [each.closed for each in (first, second, third)] == [True, False, False]
    bench.run(300)
    assert [each.closed for each in (first, second, third)] == [True, True, False]
    bench.run(300)
    assert third.closed

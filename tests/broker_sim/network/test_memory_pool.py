"""queued.max.request.bytes: what of requests is in the broker, and who reads while nothing is left."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.apis.handler_result import NoResponse
from broker_sim.errors import ConfigError
from protocol_specs.framing import encode_request
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDS = b"r" * 900


def produce() -> bytes:
    topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=memoryview(RECORDS))])
    request = ProduceRequest(transactional_id=None, acks=0, timeout_ms=1000, topic_data=[topic])
    return encode_request(request, 9, correlation_id=1, client_id="test")


SIZE = len(produce()) - 4


@pytest.fixture(params=["classic", "pipelined"])
def bench(make_bench: Callable[..., Any], request: pytest.FixtureRequest) -> Any:
    made = make_bench(
        queued_max_request_bytes="2000", socket_request_max_bytes="2000", num_io_threads="1", thread_model=request.param
    )
    made.apis.handler = lambda _request, _context: NoResponse.NO_OP
    return made


def test_a_pool_that_no_request_fits_into_is_refused(make_bench: Callable[..., Any]) -> None:
    reason = "queued.max.request.bytes must be larger or equal to socket.request.max.bytes"
    with pytest.raises(ConfigError, match=rf"^{reason} \(given: .*=100, .*=101\)$"):
        make_bench(queued_max_request_bytes="100", socket_request_max_bytes="101")


def test_without_the_option_there_is_no_pool(make_bench: Callable[..., Any]) -> None:
    assert make_bench().server.memory_pool is None


def test_no_connection_reads_while_the_pool_is_empty_and_all_read_after(bench: Any) -> None:
    bench.server.handler_pool.service_time = lambda _context: 100.0
    clients = [bench.connect() for _ in range(6)]
    for client in clients:
        client.transport.write(produce())
    bench.run()
    pool = bench.server.memory_pool
    # Two do not fill the pool, the third one takes more than is left.
    assert (pool.available, all(processor.blocked for processor in bench.server.processors)) == (2000 - 3 * SIZE, True)
    late = bench.connect()
    assert bench.server.connections == 7, "an empty pool prevents no connection"
    bench.world.run_for(ms=1000)
    assert (len(bench.apis.contexts), pool.available) == (6, pool.size)
    assert not any(processor.blocked for processor in bench.server.processors)
    late.transport.write(produce())
    bench.run(ms=200)
    assert len(bench.apis.contexts) == 7


def test_requests_that_do_not_keep_their_bytes_hold_none(bench: Any) -> None:
    bench.server.handler_pool.service_time = lambda _context: 100.0
    client = bench.connect()
    name = b"n" * 1900
    body = struct.pack(">hhih", 18, 0, 1, len(name)) + name
    client.transport.write(struct.pack(">i", len(body)) + body)
    bench.run()
    assert bench.server.memory_pool.available == 2000


def test_the_bytes_of_a_connection_that_is_closed_are_free(bench: Any) -> None:
    bench.server.handler_pool.service_time = lambda _context: 10_000.0
    clients = [bench.connect() for _ in range(3)]
    for client in clients:
        client.transport.write(produce())
    bench.run()
    assert bench.server.memory_pool.is_empty
    for processor in bench.server.processors:
        for channel in list(processor.channels):
            channel.close("as the test wants")
    bench.run()
    assert bench.server.memory_pool.available == 2000


def test_waiting_for_memory_counts_as_idle(bench: Any) -> None:
    bench.server.handler_pool.service_time = lambda _context: 1000.0
    for _ in range(3):
        bench.connect().transport.write(produce())
    bench.run(ms=500)
    assert bench.server.memory_pool.is_empty
    assert bench.server.processor_idle_ratio() == 1.0

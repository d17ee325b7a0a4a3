from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.error import ConnectionLost


def test_latency_delays_each_way_by_its_own(network):
    network.there.latency_ms, network.back.latency_ms = 3, 40
    client, server = network.pair()
    begin = network.reactor.now_us
    client.transport.write(b"request")
    network.world.run_for(ms=100)
    server.transport.write(b"response")
    network.world.run_for(ms=100)
    assert server.arrivals_us == [begin + 3_000]
    assert client.arrivals_us == [begin + 100_000 + 40_000]


def test_a_handshake_takes_a_round_trip_and_a_half(network):
    network.there.latency_ms, network.back.latency_ms = 3, 40
    begin = network.reactor.now_us
    client, server = network.pair()
    assert client.connected_us == begin + 43_000
    assert server.connected_us == begin + 46_000


def test_jitter_spreads_arrivals_and_never_reorders(network):
    network.there.jitter_ms = 10
    client, server = network.pair()
    begin = network.reactor.now_us
    for number in range(200):
        network.reactor.callLater(number / 1000, client.transport.write, b"%4d" % number)
    network.world.run_for(ms=500)
    assert server.received == b"".join(b"%4d" % number for number in range(200))
    delays = [at - begin - number * 1000 for number, at in enumerate(server.arrivals_us)]
    assert min(delays) < 3_000
    assert max(delays) > 6_000


def test_bandwidth_is_shared_by_the_connections_of_a_link(network):
    network.there.bandwidth_bytes_per_s = 1_000_000
    first, second = network.pair()
    listener = network.listen(9093)
    network.connect(port=9093)
    network.world.run_for(ms=10)
    begin = network.reactor.now_us
    first.transport.write(b"x" * 100_000)
    second_client = network.connect(port=9093)
    network.world.run_for(ms=300)
    second_client.peers[0].transport.write(b"y" * 100_000)
    network.world.run_for(ms=300)
    assert second.arrivals_us[-1] - begin == pytest.approx(100_000, rel=0.01)
    assert len(listener.peers[1].received) == 100_000


def test_two_writers_on_a_narrow_link_take_as_long_as_one_with_both_loads(network):
    network.there.bandwidth_bytes_per_s = 1_000_000
    listener = network.listen()
    clients = [network.connect() for _ in range(2)]
    network.world.run_for(ms=10)
    begin = network.reactor.now_us
    for client in clients:
        client.peers[0].transport.write(b"x" * 100_000)
    network.world.run_for(ms=1_000)
    assert max(peer.arrivals_us[-1] for peer in listener.peers) - begin == pytest.approx(200_000, rel=0.01)


def test_long_writes_arrive_in_segments(network):
    network.there.segment_bytes = 7
    client, server = network.pair()
    client.transport.write(b"0123456789abcdef")
    network.world.run_for(ms=1)
    assert server.sizes == [7, 7, 2]


def test_writes_of_one_instant_share_a_segment(network):
    client, server = network.pair()
    for _ in range(10):
        client.transport.write(b"frame")
    network.world.run_for(ms=1)
    assert server.sizes == [50]


def test_a_held_link_delivers_nothing_until_its_release_and_then_all_at_once(network):
    client, server = network.pair()
    client.transport.write(b"under way ")
    network.there.hold()
    client.transport.write(b"written later")
    network.world.run_for(ms=60_000)
    assert server.received == b""
    begin = network.reactor.now_us
    network.there.release()
    network.world.run_for(ms=1)
    assert server.received == b"under way written later"
    assert server.arrivals_us[-1] == begin


def test_a_hold_one_way_leaves_the_other_open(network):
    client, server = network.pair()
    network.there.hold()
    server.transport.write(b"news")
    network.world.run_for(ms=1)
    assert client.received == b"news"


def test_a_cut_link_delivers_nothing_until_tcp_sends_again_after_restore(network):
    client, server = network.pair()
    begin = network.reactor.now_us
    network.there.cut()
    client.transport.write(b"lost and found")
    network.world.run_for(ms=1_000)
    assert server.received == b""
    network.there.restore()
    network.world.run_for(ms=10_000)
    assert server.received == b"lost and found"
    # Sent again after 200, 600 and 1400 ms: the last is the first after the restore at 1000 ms.
    assert server.arrivals_us == [begin + 1_400_000 + 100]


def test_what_was_under_way_when_the_link_was_cut_is_lost_too(network):
    network.there.latency_ms = 50
    client, server = network.pair()
    begin = network.reactor.now_us
    client.transport.write(b"under way")
    network.world.run_for(ms=20)
    network.there.cut()
    network.world.run_for(ms=10)
    network.there.restore()
    network.world.run_for(ms=1_000)
    assert server.arrivals_us == [begin + 20_000 + 200_000 + 50_000]


def test_a_cut_without_traffic_goes_unnoticed(network):
    client, server = network.pair()
    network.there.cut()
    network.back.cut()
    network.world.run_for(ms=3_600_000)
    network.there.restore()
    network.back.restore()
    client.transport.write(b"still here")
    network.world.run_for(ms=1)
    assert server.received == b"still here"


def test_tcp_gives_up_on_a_link_that_stays_cut(network):
    client, server = network.pair()
    begin = network.reactor.now_us
    network.there.cut()
    client.transport.write(b"x")
    network.world.run_for(ms=1_000_000)
    assert isinstance(client.reason, ConnectionLost)
    assert client.lost_us == begin + 924_600_000
    assert server.lost_us is None


def test_tcp_gives_up_when_no_acknowledgement_comes_back(network):
    network.world.network.give_up_ms = 30_000
    client, server = network.pair()
    network.back.cut()
    client.transport.write(b"arrives")
    network.world.run_for(ms=31_000)
    assert server.received == b"arrives"
    assert isinstance(client.reason, ConnectionLost)


def test_a_closed_end_responds_with_a_reset(network):
    client, server = network.pair()
    network.there.cut()
    network.back.cut()
    server.transport.abortConnection()
    network.world.run_for(ms=10)
    network.there.restore()
    network.back.restore()
    network.world.run_for(ms=10_000)
    assert client.reason is None
    client.transport.write(b"hello?")
    network.world.run_for(ms=10)
    assert isinstance(client.reason, ConnectionLost)


def test_loss_delays_some_segments_and_loses_none(network):
    network.there.loss = 0.3
    network.there.segment_bytes = 100
    client, server = network.pair()
    begin = network.reactor.now_us
    client.transport.write(bytes(100 * 50))
    network.world.run_for(ms=60_000)
    assert server.received == bytes(5_000)
    assert server.arrivals_us[-1] - begin > 200_000


def test_a_link_shows_its_properties(network):
    assert repr(network.there) == "<Link client -> server up, 0.1 ms>"
    network.there.hold()
    assert network.there.is_held
    assert "held" in repr(network.there)
    network.there.cut()
    assert network.there.is_cut
    assert "cut" in repr(network.there)


def test_a_link_forgets_connections_that_are_over(network):
    listener = network.listen()
    for way in ("loseConnection", "abortConnection"):
        client = network.connect()
        network.world.run_for(ms=1)
        getattr(client.peers[0].transport, way)()
        network.world.run_for(ms=1)
    network.connect(port=1)
    network.world.run_for(ms=1)
    assert [peer.lost_us is not None for peer in listener.peers] == [True, True]
    assert (network.there._traffic, network.back._traffic) == ({}, {})


steps = st.lists(
    st.tuples(
        st.sampled_from(["client writes", "server writes", "hold", "release", "cut", "restore", "wait"]),
        st.sampled_from(["there", "back"]),
        st.integers(1, 3_000),
    ),
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(
    steps=steps,
    seed=st.integers(0, 2**32),
    latency_ms=st.floats(0, 50),
    jitter_ms=st.floats(0, 50),
    loss=st.sampled_from([0.0, 0.2]),
    bandwidth=st.sampled_from([None, 50_000]),
    segment_bytes=st.integers(1, 2_000),
    window_bytes=st.integers(1, 4_000),
)
def test_bytes_arrive_in_order_and_whole_over_any_links(
    new_network, steps, seed, latency_ms, jitter_ms, loss, bandwidth, segment_bytes, window_bytes
):
    network = new_network(seed)
    network.world.network.window_bytes = window_bytes
    for link in (network.there, network.back):
        link.latency_ms, link.jitter_ms, link.loss = latency_ms, jitter_ms, loss
        link.bandwidth_bytes_per_s, link.segment_bytes = bandwidth, segment_bytes
    client, server = network.pair()
    written = {"client": b"", "server": b""}
    blocked_since: dict[str, int] = {}
    for number, (step, way, amount) in enumerate(steps):
        if step.endswith("writes"):
            name = step.split()[0]
            data = bytes([number]) * amount
            written[name] += data
            (client if name == "client" else server).transport.write(data)
        elif step == "wait":
            network.world.run_for(ms=amount)
        else:
            link = network.there if way == "there" else network.back
            getattr(link, step)()
        for name, link, peer in (("there", network.there, server), ("back", network.back, client)):
            if not link.blocked:
                blocked_since.pop(name, None)
                continue
            assert len(peer.received) == blocked_since.setdefault(name, len(peer.received))
    for link in (network.there, network.back):
        link.release()
        link.restore()
    # A small window makes many round trips, each with its latency and losses.
    round_trips = sum(map(len, written.values())) // window_bytes
    network.world.run_for(ms=900_000 + 1_000 * round_trips)
    assert server.received == written["client"]
    assert client.received == written["server"]
    assert (client.reason, server.reason) == (None, None)

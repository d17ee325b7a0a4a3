from __future__ import annotations

import pytest
from twisted.internet import error
from twisted.internet.endpoints import HostnameEndpoint, connectProtocol
from twisted.internet.interfaces import (
    IConnector,
    IConsumer,
    IListeningPort,
    IPushProducer,
    IReactorPluggableNameResolver,
    IReactorTCP,
    IReactorTime,
    ITCPTransport,
)
from twisted.internet.protocol import Protocol
from zope.interface.verify import verifyObject

from sim_runtime.interfaces import IReactor


def test_hosts_ports_connectors_and_transports_provide_twisteds_interfaces(network):
    for interface in (IReactorTime, IReactorTCP, IReactor, IReactorPluggableNameResolver):
        assert verifyObject(interface, network.server)
    factory = network.ends()
    assert verifyObject(IListeningPort, network.server.listenTCP(0, factory))
    assert verifyObject(IConnector, network.client.connectTCP("server", 1, factory))
    client, _ = network.pair()
    for interface in (ITCPTransport, IPushProducer, IConsumer):
        assert verifyObject(interface, client.transport)


def test_a_host_has_one_ip_and_is_found_by_name_and_by_ip(network):
    hosts = [network.world.network.host(f"broker-{number}") for number in range(600)]
    assert len(dict.fromkeys(host.ip for host in hosts)) == 600
    assert all(host.ip.startswith("10.") for host in hosts)
    assert network.world.network.host("broker-7") is hosts[7]
    listener = network.listen()
    for address in ("server", network.server.ip):
        network.connect(address)
    network.world.run_for(ms=1)
    assert [peer.connected_us is not None for peer in listener.peers] == [True, True]


def test_peers_see_ips_and_ports(network):
    client, server = network.pair()
    assert (client.transport.getPeer().host, client.transport.getPeer().port) == (network.server.ip, 9092)
    assert client.transport.getHost() == server.transport.getPeer()
    assert server.transport.getHost() == client.transport.getPeer()
    assert client.transport.getHost().host == network.client.ip


def test_localhost_is_the_host_itself(network):
    there = network.ends()
    network.client.listenTCP(9092, there)
    network.listen()
    for address in ("localhost", "127.0.0.1"):
        network.connect(address)
    network.world.run_for(ms=1)
    assert [peer.connected_us is not None for peer in there.peers] == [True, True]


def test_the_reactor_itself_is_the_host_localhost(network):
    listener, client = network.ends(), network.ends()
    port = network.reactor.listenTCP(0, listener).getHost().port
    network.reactor.connectTCP("127.0.0.1", port, client)
    network.world.run_for(ms=1)
    assert listener.peers[0].connected_us is not None


def test_port_0_gets_a_free_port(network):
    ports = [network.server.listenTCP(0, network.ends()).getHost().port for _ in range(3)]
    assert len(dict.fromkeys(ports)) == 3
    with pytest.raises(error.CannotListenError):
        network.server.listenTCP(ports[0], network.ends())
    network.client.listenTCP(ports[0], network.ends())


def test_a_bind_address_gives_the_clients_port(network):
    listener = network.listen()
    network.client.connectTCP("server", 9092, network.ends(), bindAddress=("", 40_123))
    network.world.run_for(ms=1)
    assert listener.peers[0].transport.getPeer().port == 40_123


def test_an_unknown_host_is_not_found(network):
    client = network.connect("elsewhere")
    assert client.error is None
    network.world.run_for(ms=0)
    assert isinstance(client.error, error.DNSLookupError)
    assert "elsewhere" in str(client.error)


def test_a_connection_over_a_cut_link_times_out(network):
    network.listen()
    begin = network.reactor.now_us
    for link in (network.there, network.back):
        link.cut()
        client = network.connect(timeout=5)
        network.world.run_for(ms=6_000)
        assert isinstance(client.error, error.TimeoutError)
        link.restore()
    assert client.failed_us - begin == 6_000_000 + 5_000_000
    network.world.run_for(ms=10_000)
    assert (network.there._traffic, network.back._traffic) == ({}, {})


def test_a_connection_attempt_without_time_limit_ends_when_tcp_gives_up(network):
    begin = network.reactor.now_us
    network.listen()
    network.there.cut()
    client = network.connect(timeout=None)
    network.world.run_for(ms=200_000)
    assert isinstance(client.error, error.TCPTimedOutError)
    assert client.failed_us - begin == 127_000_000


def test_a_connection_attempt_survives_a_short_cut(network):
    network.listen()
    begin = network.reactor.now_us
    network.there.cut()
    client = network.connect()
    network.world.run_for(ms=2_000)
    network.there.restore()
    network.world.run_for(ms=5_000)
    # A lost SYN is sent again after 1 s and after 3 s.
    assert client.peers[0].connected_us - begin == 3_000_000 + 200


def test_a_connection_attempt_over_a_held_link_waits_for_its_release(network):
    listener = network.listen()
    network.there.hold()
    client = network.connect()
    network.world.run_for(ms=10_000)
    assert (client.peers, listener.peers) == ([], [])
    network.there.release()
    network.world.run_for(ms=1)
    assert listener.peers[0].connected_us is not None


def test_an_isolated_host_reaches_only_itself_until_it_rejoins(network):
    network.world.network.isolate("server")
    own = network.ends()
    network.server.listenTCP(9092, own)
    network.server.connectTCP("localhost", 9092, network.ends())
    outside = network.connect(timeout=1)
    newcomer = network.ends()
    network.world.network.host("newcomer").connectTCP("server", 9092, newcomer, timeout=1)
    network.world.run_for(ms=2_000)
    assert len(own.peers) == 1
    assert isinstance(outside.error, error.TimeoutError)
    assert isinstance(newcomer.error, error.TimeoutError)
    network.world.network.rejoin("server")
    network.connect()
    network.world.run_for(ms=1)
    assert len(own.peers) == 2


def test_rejoin_leaves_links_cut_that_were_cut_by_themselves(network):
    network.there.cut()
    network.world.network.isolate("server")
    network.world.network.rejoin("server")
    assert (network.there.is_cut, network.back.is_cut) == (True, False)


def test_a_crash_resets_connections_and_drops_listeners(network):
    client, server = network.pair()
    begin = network.reactor.now_us
    network.server.crash()
    assert isinstance(server.reason, error.ConnectionLost)
    network.world.run_for(ms=10)
    assert isinstance(client.reason, error.ConnectionLost)
    assert client.lost_us == begin + 100
    refused = network.connect()
    network.world.run_for(ms=10)
    assert isinstance(refused.error, error.ConnectionRefusedError)


def test_what_arrived_before_the_crash_is_kept_and_what_was_just_written_is_not(network):
    client, server = network.pair()
    server.transport.write(b"sent ")
    network.world.run_for(ms=0.05)
    server.transport.write(b"not sent")
    network.server.crash()
    network.world.run_for(ms=10)
    assert client.received == b"sent "


def test_a_crash_ends_attempts_from_and_to_the_host(network):
    network.listen()
    to_crashed, from_crashed = network.connect(), network.ends()
    network.server.connectTCP("client", 9092, from_crashed)
    network.world.run_for(ms=0.1)
    network.server.crash()
    network.world.run_for(ms=10)
    assert isinstance(to_crashed.peers[0].reason, error.ConnectionLost)
    assert isinstance(from_crashed.error, error.ConnectionLost)


def test_a_crashed_host_can_listen_again_at_once(network):
    client, _ = network.pair()
    network.server.crash()
    again = network.listen()
    network.connect()
    network.world.run_for(ms=10)
    assert again.peers[0].connected_us is not None
    assert client.reason is not None


def test_a_crash_over_a_cut_link_is_noticed_at_the_next_write_only(network):
    client, _ = network.pair()
    network.back.cut()
    network.server.crash()
    network.back.restore()
    network.world.run_for(ms=60_000)
    assert client.reason is None
    client.transport.write(b"x")
    network.world.run_for(ms=1)
    assert isinstance(client.reason, error.ConnectionLost)


def test_an_error_in_data_received_loses_the_connection_and_fails_the_run(network):
    client, server = network.pair()

    def refuse(data: bytes) -> None:
        raise ValueError("bad frame")

    server.dataReceived = refuse
    client.transport.write(b"x")
    with pytest.raises(ValueError, match="bad frame"):
        network.world.run_for(ms=10)
    assert isinstance(server.reason, ValueError)
    network.world.run_for(ms=10)
    assert isinstance(client.reason, error.ConnectionDone)


def test_a_writer_holds_no_more_than_the_window_in_flight(network):
    network.world.network.window_bytes = 10_000
    client, server = network.pair()
    server.transport.pauseProducing()
    client.transport.write(bytes(50_000))
    network.world.run_for(ms=100)
    assert sum(len(chunk) for chunk in server.transport._received) == 10_000
    server.transport.resumeProducing()
    network.world.run_for(ms=100)
    assert len(server.received) == 50_000


def test_hostname_endpoints_resolve_the_names_of_hosts(network):
    listener = network.listen()
    peer = network.world.run_until(connectProtocol(HostnameEndpoint(network.client, "server", 9092), Protocol()))
    network.world.run_for(ms=1)
    assert peer.transport.getPeer().host == network.server.ip
    assert len(listener.peers) == 1
    with pytest.raises(error.DNSLookupError):
        network.world.run_until(connectProtocol(HostnameEndpoint(network.client, "nowhere", 9092), Protocol()))


def test_links_are_named_in_the_order_of_their_making(network):
    assert [(link.source, link.target) for link in network.world.network.links()] == [
        ("client", "server"),
        ("server", "client"),
    ]

"""Channels on TLS: when a frame may go, how records become frames, and what a refused handshake is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from broker_client.core.network.kafka_channel import ChannelState
from broker_client.core.network.selector import Selector
from broker_client.core.network.ssl_channel import SslChannelBuilder
from broker_client.errors import SslAuthenticationFailed
from sim_runtime.ssl_engine import SslEngineFactory
from sim_runtime.ssl_settings import SslConfigError, SslSettings
from sim_runtime.ssl_transport_layer import server_side
from tests.client.core.network.test_selector import PORT, Server, frame

if TYPE_CHECKING:
    from sim_runtime.world import World
    from tests.certificate_authority import Certificates, Identity


def settings(server: bool = False, **options: Any) -> SslSettings:
    given = {name.replace("_", "."): value for name, value in options.items()}
    given.setdefault("ssl.endpoint.identification.algorithm", "https")
    return SslSettings.read(given.get, server=server)


def server_settings(identity: Identity, **options: Any) -> SslSettings:
    return settings(server=True, ssl_keystore_type="PEM", ssl_keystore_location=str(identity.file), **options)


def client_settings(certificates: Certificates, **options: Any) -> SslSettings:
    options.setdefault("ssl_truststore_certificates", certificates.authority.pem)
    return settings(ssl_truststore_type="PEM", **options)


class Pair:
    """A selector on the host `client`, and a TLS server on `server`, whose certificate is for `names`."""

    def __init__(self, world: World, client: SslSettings, server: SslSettings | None) -> None:
        self.world = world
        self.server = Server()
        host = world.network.host("server")
        factory: Any = self.server
        if server is not None:
            factory = server_side(SslEngineFactory(server, server=True), self.server, host)
        host.listenTCP(PORT, factory)
        self.selector = Selector(
            reactor=world.network.host("client"),
            max_idle_ms=-1,
            on_event=lambda: None,
            channel_builder=SslChannelBuilder(SslEngineFactory(client, server=False)),
        )
        self.selector.connect(1, "server", PORT, send_buffer_bytes=-1, receive_buffer_bytes=-1)
        world.run_for(ms=50)

    def poll(self) -> list[bytes]:
        self.world.run_for(ms=10)
        self.selector.poll(self.world.reactor.now_us // 1000)
        return [receive.payload for receive in self.selector.completed_receives]

    def failure(self) -> str:
        self.poll()
        (ended,) = self.selector.disconnected
        assert ended.state is ChannelState.AUTHENTICATION_FAILED
        assert isinstance(ended.failure, SslAuthenticationFailed)
        assert not self.selector.connected
        return str(ended.failure)


@pytest.fixture(scope="module")
def identity(certificates: Certificates) -> Identity:
    return certificates.authority.issue("server", hosts=("server",))


@pytest.fixture
def pair(world: World, certificates: Certificates, identity: Identity) -> Pair:
    made = Pair(world, client_settings(certificates), server_settings(identity))
    made.poll()
    assert made.selector.connected == [1]
    return made


def test_a_channel_is_connected_when_the_handshake_is_done_and_not_before(
    world: World, certificates: Certificates
) -> None:
    builder = SslChannelBuilder(SslEngineFactory(client_settings(certificates), server=False))
    world.network.host("server").listenTCP(PORT, Server())  # accepts the connection and is silent
    selector = Selector(
        reactor=world.network.host("client"), max_idle_ms=-1, on_event=lambda: None, channel_builder=builder
    )
    selector.connect(1, "server", PORT, send_buffer_bytes=-1, receive_buffer_bytes=-1)
    world.run_for(ms=100)
    selector.poll(100)
    assert not selector.connected
    assert not selector.is_channel_ready(1)


def test_several_responses_in_one_tls_record_are_returned_one_per_poll(pair: Pair) -> None:
    (peer,) = pair.server.peers
    peer.transport.write(frame(b"a") + frame(b"b") + frame(b"c"))
    assert pair.poll() == [b"a"]
    assert pair.selector.has_events
    assert pair.poll() == [b"b"]
    assert pair.poll() == [b"c"]
    assert not pair.selector.has_events


def test_several_records_with_one_response_are_one_receive(pair: Pair) -> None:
    (peer,) = pair.server.peers
    whole = frame(b"x" * 40_000)  # more than the 16 KiB that a record holds
    peer.transport.write(whole[:2])
    assert pair.poll() == []
    peer.transport.write(whole[2:20_000])
    assert pair.poll() == []
    peer.transport.write(whole[20_000:])
    assert pair.poll() == [b"x" * 40_000]


def test_what_is_decrypted_for_a_muted_channel_waits_for_its_polls(pair: Pair) -> None:
    (peer,) = pair.server.peers
    peer.transport.write(frame(b"a") + frame(b"b"))
    pair.world.run_for(ms=10)
    pair.selector.mute(1)
    peer.transport.write(frame(b"c"))
    assert [pair.poll(), pair.poll(), pair.poll()] == [[b"a"], [b"b"], []]
    pair.selector.unmute(1)
    assert pair.poll() == [b"c"]


def test_a_send_is_completed_when_tls_has_handed_it_on(pair: Pair) -> None:
    pair.selector.send(1, frame(b"hello"))
    pair.poll()
    assert pair.selector.completed_sends == [1]
    assert pair.server.received == [frame(b"hello")]


def test_receives_before_the_end_are_returned_before_it(pair: Pair) -> None:
    (peer,) = pair.server.peers
    peer.transport.write(frame(b"a") + frame(b"b"))
    peer.transport.loseConnection()
    assert pair.poll() == [b"a"]
    assert pair.poll() == [b"b"]
    pair.poll()
    assert not pair.selector.is_channel_ready(1)


def test_an_untrusted_certificate_names_the_trust_store(
    world: World, certificates: Certificates, identity: Identity
) -> None:
    client = client_settings(certificates, ssl_truststore_certificates=certificates.stranger.pem)
    failure = Pair(world, client, server_settings(identity)).failure()
    assert "server:9092: its certificate, CN=server, is not trusted: ssl.truststore.location or" in failure


def test_an_expired_certificate_is_reported(world: World, certificates: Certificates) -> None:
    old = certificates.authority.issue("old", hosts=("server",), expired=True)
    failure = Pair(world, client_settings(certificates), server_settings(old)).failure()
    assert "its certificate, CN=old, has expired: the broker's ssl.keystore needs a new one" in failure


def test_a_certificate_for_another_name_reports_its_name(world: World, certificates: Certificates) -> None:
    other = certificates.authority.issue("other", hosts=("elsewhere", "10.0.0.1"))
    failure = Pair(world, client_settings(certificates), server_settings(other)).failure()
    assert "the certificate is for elsewhere, 10.0.0.1, not for server" in failure
    assert "ssl.endpoint.identification.algorithm" in failure


def test_an_empty_identification_algorithm_takes_any_name(world: World, certificates: Certificates) -> None:
    other = certificates.authority.issue("any", hosts=("elsewhere",))
    client = client_settings(certificates, ssl_endpoint_identification_algorithm="")
    made = Pair(world, client, server_settings(other))
    made.poll()
    assert made.selector.connected == [1]


def test_a_missing_client_certificate_is_reported_with_its_option(
    world: World, certificates: Certificates, identity: Identity
) -> None:
    server = server_settings(
        identity,
        ssl_client_auth="required",
        ssl_truststore_type="PEM",
        ssl_truststore_location=str(certificates.authority.file),
    )
    made = Pair(world, client_settings(certificates), server)
    # TLS 1.3: the client believes that it is connected before the server has judged it.
    made.poll()
    if not made.selector.disconnected:
        made.poll()
    ended = made.selector.disconnected
    assert ended[0].state is ChannelState.AUTHENTICATION_FAILED
    assert "it requires a client's certificate" in ended[0].reason
    assert "ssl.keystore.location" in ended[0].reason


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_client_that_is_known_is_let_in(
    world: World, certificates: Certificates, identity: Identity, version: str
) -> None:
    known = certificates.authority.issue("known", key=Ed25519PrivateKey.generate())
    server = server_settings(
        identity,
        ssl_client_auth="required",
        ssl_truststore_type="PEM",
        ssl_truststore_certificates=certificates.authority.pem,
    )
    client = client_settings(
        certificates,
        ssl_enabled_protocols=version,
        ssl_keystore_type="PEM",
        ssl_keystore_key=known.sealed_key_pem("secret").replace("\n", " "),
        ssl_key_password="secret",
        ssl_keystore_certificate_chain=known.certificate_pem,
    )
    made = Pair(world, client, server)
    made.poll()
    assert made.selector.connected == [1]
    made.selector.send(1, frame(b"known"))
    made.poll()
    assert made.server.received == [frame(b"known")]


def test_virtual_time_refuses_a_key_whose_signatures_differ_in_size(
    world: World, certificates: Certificates, identity: Identity
) -> None:
    client = client_settings(certificates, ssl_keystore_type="PEM", ssl_keystore_location=str(certificates.client.file))
    with pytest.raises(SslConfigError, match=r"ssl.keystore: the key is an ECDSA key.*use an RSA or Ed25519 key"):
        Pair(world, client, server_settings(identity))


def test_versions_without_overlap_name_the_options(
    world: World, certificates: Certificates, identity: Identity
) -> None:
    server = server_settings(identity, ssl_enabled_protocols="TLSv1.2")
    client = client_settings(certificates, ssl_enabled_protocols="TLSv1.3")
    assert (
        "no version of TLS that ssl.enabled.protocols and ssl.protocol allow" in Pair(world, client, server).failure()
    )


def test_a_server_without_tls_is_recognised(world: World, certificates: Certificates) -> None:
    made = Pair(world, client_settings(certificates), None)
    made.server.peers[0].transport.write(frame(b"\0\0\0\0 a response"))
    assert "without TLS: a PLAINTEXT listener" in made.failure()


def test_a_connection_that_ends_in_the_handshake_may_be_made_again(world: World, certificates: Certificates) -> None:
    made = Pair(world, client_settings(certificates), None)
    made.server.peers[0].transport.loseConnection()
    made.poll()
    (ended,) = made.selector.disconnected
    assert (ended.state, ended.failure) == (ChannelState.NOT_CONNECTED, None)
    assert "ended the connection during the TLS handshake: security.protocol=SSL may not be" in ended.reason


def test_sni_carries_the_name_of_the_server(world: World, certificates: Certificates, identity: Identity) -> None:
    requested: list[bytes | None] = []
    engines = SslEngineFactory(server_settings(identity), server=True)
    engines.context.set_tlsext_servername_callback(lambda connection: requested.append(connection.get_servername()))
    host = world.network.host("server")
    host.listenTCP(PORT, server_side(engines, Server(), host))
    builder = SslChannelBuilder(SslEngineFactory(client_settings(certificates), server=False))
    selector = Selector(
        reactor=world.network.host("client"), max_idle_ms=-1, on_event=lambda: None, channel_builder=builder
    )
    selector.connect(1, "server", PORT, send_buffer_bytes=-1, receive_buffer_bytes=-1)
    world.run_for(ms=50)
    assert requested == [b"server"]

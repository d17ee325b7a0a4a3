"""The requests of our producer that logs in by SASL, beside those of the Java producer, on a real broker.

With each mechanism one record is sent. The session of PLAIN ends before a second record: both prolong it first.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import tempfile
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.endpoints import HostnameEndpoint, connectProtocol
from twisted.internet.task import deferLater

from protocol_specs.sasl.jaas import LOGIN_MODULES
from sim_runtime.reactor_thread import ReactorThread
from tests.client.script_cluster import Waits
from tests.client.script_runs import OurProducer, Progress, Record
from tests.interop.java_scripts import RELEASE, JavaProducer, java_producers
from tests.interop.kafka_with_sasl import KafkaWithSasl, login_with
from tests.interop.recording_proxy import RecordingProxy

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from tests.interop.recording_proxy import RecordedRequest

pytestmark = pytest.mark.alone

Maker: TypeAlias = "Callable[[Any, Progress], Coroutine[Any, Any, Any]]"
TOPIC: Final = "sent"
SESSION_MS: Final = 3_000
PROLONGED: Final = "PLAIN"
RUN_SECONDS_MAX: Final = 60
_SCRAM_SECRET: Final = re.compile(rb"(?<=[rp]=)[^,]+")
_TOKEN: Final = re.compile(rb"(?<=Bearer )[^\x01]+")


def message_of(request: RecordedRequest) -> object:
    """The message of a mechanism without what every exchange draws anew."""
    if request.api == "SaslHandshake":
        return request.body.mechanism
    if request.api != "SaslAuthenticate":
        return None
    message = bytes(request.body.auth_bytes)
    token = _TOKEN.search(message)
    if token is None:
        return _SCRAM_SECRET.sub(b"*", message)
    header, claims, signature = (
        json.loads(urlsafe_b64decode(part + b"==") or b"null") for part in token[0].split(b".")
    )
    lifetime_s = round(claims["exp"] - claims["iat"])  # Java reads the clock twice
    return _TOKEN.sub(b"*", message), header, signature, sorted(claims), claims["sub"], lifetime_s


def stream(proxy: RecordingProxy) -> list[tuple[Any, ...]]:
    """The requests by connection: the order between connections is not given."""
    found = [
        (each.connection, each.correlation_id, each.api, each.version, message_of(each)) for each in proxy.requests
    ]
    return sorted(found, key=lambda each: each[0])


async def send(reactor: Any, make: Maker, mechanism: str, proxy: RecordingProxy) -> None:
    progress = Progress(Waits(reactor))
    producer = await make(reactor, progress)
    # A producer id is requested again while the broker, which has just started, has none.
    config = login_with(mechanism) | {"client.id": "me", "enable.idempotence": "false", "enable.metrics.push": "false"}
    # A command of the Java program is one line of words.
    config["sasl.jaas.config"] = config["sasl.jaas.config"].replace(" ", "\t")
    producer.start(proxy.bootstrap_servers, config)
    records = 2 if mechanism == PROLONGED else 1
    for number in range(records):
        if number:
            await deferLater(reactor, SESSION_MS * 0.96 / 1000, lambda: None)
        await producer.send(number, Record(topic=TOPIC, partition=0, timestamp_ms=None, key=None, value=b"x"))
        await producer.flush()
    await producer.close(None)
    assert all(how.startswith("ok ") for how in progress.outcomes.values()), progress.outcomes
    assert len(progress.outcomes) == records


def streams_of(make: Maker, servers: str) -> dict[str, list[tuple[Any, ...]]]:
    """Send with every mechanism at once."""
    proxies = {mechanism: RecordingProxy(servers) for mechanism in LOGIN_MODULES}
    with contextlib.ExitStack() as stack:
        for proxy in proxies.values():
            stack.enter_context(proxy)
        thread = stack.enter_context(ReactorThread("clients with SASL"))

        async def together() -> None:
            sends = (send(thread.reactor, make, mechanism, proxy) for mechanism, proxy in proxies.items())
            await gatherResults([Deferred.fromCoroutine(one) for one in sends])

        thread.call(together, timeout_s=RUN_SECONDS_MAX)
    return {mechanism: stream(proxy) for mechanism, proxy in proxies.items()}


async def our_producer(reactor: Any, progress: Progress) -> Any:
    return OurProducer(reactor, random.Random(7), progress)


def test_our_producer_authenticates_as_the_java_producer_does() -> None:
    settings = {f"listener.name.safe.{PROLONGED.lower()}.connections.max.reauth.ms": str(SESSION_MS)}
    with tempfile.TemporaryDirectory() as folder, java_producers() as port:

        async def java_producer(reactor: Any, progress: Progress) -> Any:
            return await connectProtocol(HostnameEndpoint(reactor, "127.0.0.1", port), JavaProducer(progress))

        kafka = KafkaWithSasl(RELEASE, Path(folder), settings)
        try:
            kafka.start()
            kafka.prepare(TOPIC)
            java = streams_of(java_producer, kafka.safe_servers)
            ours = streams_of(our_producer, kafka.safe_servers)
        finally:
            kafka.stop()
    assert ours == java
    sent = [api for _, _, api, *_ in ours[PROLONGED]]
    assert sent[-4:] == ["Produce", "SaslHandshake", "SaslAuthenticate", "Produce"]

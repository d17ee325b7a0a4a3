"""Conversations with SASL listeners: all of a case at once, because a broker delays the end of each failed one."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from protocol_specs.framing import decode_response, encode_request, framed
from protocol_specs.json_form import to_json
from protocol_specs.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol_specs.messages.sasl_handshake import SaslHandshakeRequest
from protocol_specs.registry import response_type
from tests.differential.extra_listeners import EXTRA_LISTENERS
from tests.differential.probe import CLOSED, RESPONSE_SECONDS, SILENT, attempts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from protocol_specs.message import Message
    from tests.differential.probe import Connection, Probe

DELAY_MS = 800
DELAYED_SECONDS = 0.78
"""What arrives after this time was delayed by connection.failed.authentication.delay.ms, nothing else takes so long."""
POLL_SECONDS = 0.001
LOGIN, SHORT = "LOGIN", "SHORT"
"""A listener whose sessions have no end, and one whose sessions of PLAIN last SESSION_MS."""
SESSION_MS = 1500
_PLAIN = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret" user_bob="pw2" '
    'username="admin" password="x";'
)
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_BEARER = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    'unsecuredLoginStringClaim_sub="admin";'
)
_MODULES = {"plain": _PLAIN, "scram-sha-256": _SCRAM, "scram-sha-512": _SCRAM, "oauthbearer": _BEARER}
SETTINGS = (
    (EXTRA_LISTENERS, f"{LOGIN}=SASL_PLAINTEXT,{SHORT}=SASL_PLAINTEXT"),
    ("sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"),
    ("connection.failed.authentication.delay.ms", str(DELAY_MS)),
    ("listener.name.short.plain.connections.max.reauth.ms", str(SESSION_MS)),
    *(
        (f"listener.name.{listener.lower()}.{mechanism}.sasl.jaas.config", module)
        for listener in (LOGIN, SHORT)
        for mechanism, module in _MODULES.items()
    ),
)


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes in place of a request: the content of a frame, or (`sized=False`) bytes as they are."""

    data: bytes
    sized: bool = True

    def encoded(self) -> bytes:
        """Return the bytes to send."""
        return framed(self.data) if self.sized else self.data


@dataclass(frozen=True, slots=True)
class Request:
    """A request at a version."""

    message: Message
    version: int

    def encoded(self) -> bytes:
        """Return the bytes to send."""
        return encode_request(self.message, self.version, correlation_id=7, client_id="probe")


Step: TypeAlias = Raw | Request


@dataclass(slots=True)
class _Exchange:
    connection: Connection
    last: Step
    before: list[Any] = field(default_factory=list)
    frame: bytes | str = SILENT
    """What came in response to the last step."""
    seconds: float = 0.0
    """How long it took."""
    _sent: float = 0.0

    def send_last(self) -> None:
        """Send the last step."""
        self._sent = time.monotonic()
        self.connection.send(self.last.encoded())

    def is_over(self) -> bool:
        """Receive what has come, and note when; return True if something has."""
        if self.frame == SILENT:
            self.frame = self.connection.receive(POLL_SECONDS)
            self.seconds = time.monotonic() - self._sent
        return self.frame != SILENT


def handshake(mechanism: str = "PLAIN", version: int = 1) -> Request:
    """SaslHandshake."""
    return Request(SaslHandshakeRequest(mechanism=mechanism), version)


def token(data: bytes, version: int = 2) -> Request:
    """SaslAuthenticate."""
    return Request(SaslAuthenticateRequest(auth_bytes=data), version)


def header(api_key: int, version: int, rest: bytes = b"") -> Raw:
    """A frame with a header of version 1, and any bytes as its body."""
    return Raw(struct.pack(">hhih5s", api_key, version, 7, 5, b"probe") + rest)


def exchange_all(
    probe: Probe, conversations: Mapping[str, Sequence[Step | Callable[[bytes], Step]]], *, listener: str = LOGIN
) -> dict[str, Connection]:
    """Have each conversation on a connection of its own, and record the end of each; only the last step may be delayed.

    An entry has the response to the last step, whether it was delayed, and whether the connection was closed then.
    """
    begun = {name: _begin(probe, steps, listener) for name, steps in conversations.items()}
    for each in begun.values():
        each.send_last()
    for _ in attempts("the end of each conversation"):
        waiting = [each for each in begun.values() if not each.is_over()]
        if not waiting:
            break
    for name, each in begun.items():
        frame, delayed = each.frame, each.seconds >= DELAYED_SECONDS
        is_failure = delayed or frame == CLOSED
        after = each.connection.receive(RESPONSE_SECONDS if is_failure else 0.001)
        outcome = {"before": each.before, "last": _shown(each.last, frame), "delayed": delayed, "then": after}
        message, version = _about(each.last)
        probe.keep(message, version, outcome, note=name)
    return {name: each.connection for name, each in begun.items()}


def _begin(probe: Probe, steps: Sequence[Step | Callable[[bytes], Step]], listener: str) -> _Exchange:
    connection = probe.connect(listener=listener)
    begun = _Exchange(connection, _step(steps[0], b""))
    for following in steps[1:]:
        sent = begun.last
        connection.send(sent.encoded())
        frame = connection.receive(RESPONSE_SECONDS)
        begun.before.append(_shown(sent, frame))
        begun.last = _step(following, _payload(sent, frame))
    return begun


def _step(step: Step | Callable[[bytes], Step], before: bytes) -> Step:
    return step if isinstance(step, Raw | Request) else step(before)


def _payload(step: Step, frame: bytes | str) -> bytes:
    """Return the token in a response."""
    if not isinstance(step, Request) or isinstance(frame, str) or not frame:
        return b""
    response = decode_response(response_type(step.message.API_KEY), step.version, frame)[1]
    return bytes(getattr(response, "auth_bytes", b""))


def _about(step: Step) -> tuple[Message, int]:
    return (step.message, step.version) if isinstance(step, Request) else (SaslAuthenticateRequest(), 0)


def _shown(step: Step, frame: bytes | str) -> Any:
    """Return a response without what is random or depends on the clock: the nonce and signature of SCRAM, lifetimes."""
    if isinstance(frame, str):
        return frame
    if isinstance(step, Raw):
        return frame.hex()
    if step.message.NAME == "ApiVersions":
        response: Any = decode_response(response_type(step.message.API_KEY), step.version, frame)[1]
        return {"errorCode": response.error_code}
    shown = to_json(decode_response(response_type(step.message.API_KEY), step.version, frame)[1], step.version)
    if "mechanisms" in shown:
        shown["mechanisms"] = ",".join(shown["mechanisms"])
    if "authBytes" in shown:
        text = _payload(step, frame).decode()
        shown["authBytes"] = text[:2] if text.startswith(("r=", "v=")) else text
    if shown.get("sessionLifetimeMs", 0) > SESSION_MS:
        shown["sessionLifetimeMs"] = "<lifetime>"
    return shown

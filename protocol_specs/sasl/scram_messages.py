"""The four messages of SCRAM as Kafka reads and writes them. Mirrors ScramMessages and ScramExtensions."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from protocol_specs.sasl.sasl_names import SASL_NAME, SaslMessageError, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ClientFinal", "ClientFirst", "ServerFinal", "ServerFirst", "exchanged_by"]

_VALUE_SAFE: Final = r"[\x01-\x2b\x2d-\x3c\x3e-\x7f]+"
_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]+"
_PRINTABLE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_RESERVED: Final = f"(?:m={_VALUE},)?"
_EXTENSIONS: Final = f"(?:,[A-Za-z]+={_VALUE})*"
_CLIENT_FIRST: Final = re.compile(
    f"n,(?:a=(?P<authzid>{SASL_NAME}))?,{_RESERVED}n=(?P<name>{SASL_NAME}),r=(?P<nonce>{_PRINTABLE})"
    f"(?P<extensions>{_EXTENSIONS})"
)
_SERVER_FIRST: Final = re.compile(
    f"{_RESERVED}r=(?P<nonce>{_PRINTABLE}),s=(?P<salt>{_BASE64}),i=(?P<iterations>[0-9]+){_EXTENSIONS}"
)
_CLIENT_FINAL: Final = re.compile(
    f"c=(?P<channel>{_BASE64}),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS},p=(?P<proof>{_BASE64})"
)
_SERVER_FINAL: Final = re.compile(f"(?:e=(?P<error>{_VALUE_SAFE}))|(?:v=(?P<signature>{_BASE64})){_EXTENSIONS}")
_INT32_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFirst:
    """The first message of a client; `name` is escaped (see sasl_names). Kafka knows the extension `tokenauth`."""

    name: str
    nonce: str
    authorization_id: str = ""
    extensions: Mapping[str, str] = field(default_factory=dict)

    @property
    def bare(self) -> str:
        """The message without its header, as the proof covers it."""
        return ",".join(
            [f"n={self.name}", f"r={self.nonce}", *(f"{key}={text}" for key, text in self.extensions.items())]
        )

    @property
    def header(self) -> bytes:
        """The GS2 header, which the final message repeats: no channel binding."""
        return f"n,{self.authorization_id},".encode()

    def encode(self) -> bytes:
        """Return the message."""
        return self.header + self.bare.encode()

    @classmethod
    def decode(cls, message: bytes) -> ClientFirst:
        """Read a message.

        Raises:
            SaslMessageError: It is none.
        """
        found = _matched(_CLIENT_FIRST, message, "client first")
        pairs = (pair.partition("=")[::2] for pair in found["extensions"].split(",")[1:])
        return cls(
            name=found["name"],
            nonce=found["nonce"],
            authorization_id=found["authzid"] or "",
            extensions=dict(pairs),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFirst:
    """The first message of a server: the nonces of both, and how the password is salted."""

    nonce: str
    salt: bytes
    iterations: int

    def encode(self) -> bytes:
        """Return the message."""
        return f"r={self.nonce},s={b64encode(self.salt).decode()},i={self.iterations}".encode()

    @classmethod
    def decode(cls, message: bytes) -> ServerFirst:
        """Read a message.

        Raises:
            SaslMessageError: It is none.
        """
        found = _matched(_SERVER_FIRST, message, "server first")
        iterations = int(found["iterations"])
        if iterations > _INT32_MAX:
            raise SaslMessageError("Invalid SCRAM server first message format: invalid iterations")
        if not iterations:
            raise SaslMessageError("Invalid SCRAM server first message format: invalid iterations 0")
        return cls(nonce=found["nonce"], salt=b64decode(found["salt"]), iterations=iterations)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFinal:
    """The final message of a client: the header of its first one, both nonces, and the proof."""

    channel_binding: bytes
    nonce: str
    proof: bytes = b""

    @property
    def without_proof(self) -> str:
        """The message as the proof covers it."""
        return f"c={b64encode(self.channel_binding).decode()},r={self.nonce}"

    def encode(self) -> bytes:
        """Return the message."""
        return f"{self.without_proof},p={b64encode(self.proof).decode()}".encode()

    @classmethod
    def decode(cls, message: bytes) -> ClientFinal:
        """Read a message.

        Raises:
            SaslMessageError: It is none.
        """
        found = _matched(_CLIENT_FINAL, message, "client final")
        return cls(channel_binding=b64decode(found["channel"]), nonce=found["nonce"], proof=b64decode(found["proof"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFinal:
    """The final message of a server: its signature, or an error, which Kafka's brokers never send."""

    signature: bytes = b""
    error: str | None = None

    def encode(self) -> bytes:
        """Return the message."""
        return (f"v={b64encode(self.signature).decode()}" if self.error is None else f"e={self.error}").encode()

    @classmethod
    def decode(cls, message: bytes) -> ServerFinal:
        """Read a message.

        Raises:
            SaslMessageError: It is none.
        """
        found = _matched(_SERVER_FINAL, message, "server final")
        if found["error"] is not None:
            return cls(error=found["error"])
        return cls(signature=b64decode(found["signature"]))


def exchanged_by(first: ClientFirst, response: ServerFirst, final: ClientFinal) -> bytes:
    """Return RFC 5802's AuthMessage, which the client's proof and the server's signature cover."""
    return b",".join([first.bare.encode(), response.encode(), final.without_proof.encode()])


def _matched(pattern: re.Pattern[str], message: bytes, kind: str) -> re.Match[str]:
    text = text_of(message)
    found = pattern.fullmatch(text)
    if found is None:
        raise SaslMessageError(f"Invalid SCRAM {kind} message format: {text}")
    return found

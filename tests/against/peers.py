"""The independent codecs, and which of our message versions each one has: what its tests try, and coverage counts."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

from tests.against import aiokafka_peer, kafka_python_peer, kio_peer
from tests.against.peer_limits import AIOKAFKA, AIOKAFKA_WRONG, KAFKA_PYTHON, KAFKA_PYTHON_FIELDS, KIO, KIO_TYPES
from tests.protocol_specs.every_message import MESSAGES

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from protocol_specs.message import Message
    from tests.against.peer_limits import Limit


class Peer(Protocol):
    """A module that puts our messages through another codec."""

    def peer_class(self, cls: type[Message], version: int) -> Any:
        """Its class of a message version, None when it has none."""

    def encode(self, message: Message, version: int) -> bytes:
        """The bytes that it makes of a message."""

    def decode(self, cls: type[Message], version: int, data: bytes) -> Message:
        """The message that it finds in bytes."""


PEERS: Final[dict[str, Peer]] = {KIO: kio_peer, KAFKA_PYTHON: kafka_python_peer, AIOKAFKA: aiokafka_peer}
"""By the name of the package."""


@cache
def shared(name: str) -> tuple[tuple[type[Message], int], ...]:
    """The message versions that a peer has, but for those that it has wrong as a whole."""
    return tuple(
        (cls, version)
        for cls, version in MESSAGES
        if PEERS[name].peer_class(cls, version) is not None and not _is_wrong(name, cls, version)
    )


def _is_wrong(name: str, cls: type[Message], version: int) -> bool:
    limit = AIOKAFKA_WRONG.get(cls.__name__) if name == AIOKAFKA else None
    return limit is not None and version in limit.versions


def for_shared(name: str, *, flexible: bool = False) -> pytest.MarkDecorator:
    """Run a test with each message version that a peer has; optionally with the flexible ones alone."""
    chosen = [(cls, version) for cls, version in shared(name) if not flexible or cls.is_flexible(version)]
    cases = [pytest.param(cls, version, id=f"{cls.__name__} v{version}") for cls, version in chosen]
    return pytest.mark.parametrize(("cls", "version"), cases)


def installed(name: str) -> str:
    """The version of a peer's package here."""
    return version_of(name)


def values(name: str, cls: type[Message], version: int) -> dict[str, SearchStrategy[Any]] | None:
    """The values drawn in place of those that a peer cannot carry, by field; None if it carries all."""
    limits: dict[str, Limit] = {}
    if name == KIO:
        typed = kio_peer.typed_fields(cls, kio_peer.peer_class(cls, version), version)
        limits = {path: KIO_TYPES[kio_type] for path, kio_type in typed if kio_type in KIO_TYPES}
    elif name == KAFKA_PYTHON:
        limits = {path: limit for (message, path), limit in KAFKA_PYTHON_FIELDS.items() if message == cls.__name__}
    drawn = {
        path: limit.values for path, limit in limits.items() if limit.values is not None and version in limit.versions
    }
    return drawn or None

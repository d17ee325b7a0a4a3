"""The base of the transports that are no sockets: their state, and the producer that writes to them.

Mirrors the part of Twisted's FileDescriptor that has nothing to do with a file descriptor.
"""

# ruff: noqa: FBT001, N802
# The names are those of Twisted's interfaces.

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, cast

from twisted.internet.error import ConnectionAborted, ConnectionDone, ConnectionLost
from twisted.python.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from twisted.internet.interfaces import IProducer, IPullProducer

__all__ = ["ABORTED", "DONE", "LOST", "TransportBase"]

DONE: Final = Failure(ConnectionDone())
LOST: Final = Failure(ConnectionLost())
ABORTED: Final = Failure(ConnectionAborted())


class TransportBase(ABC):
    """The state that all transports have; `disconnecting` and `disconnected` are those of Twisted's."""

    def __init__(self) -> None:
        self.disconnecting = False
        self.disconnected = False
        self.producer: IProducer | None = None
        self.streamingProducer = False
        self.producerPaused = False

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Send `data` after all that was written before."""

    @abstractmethod
    def loseConnection(self) -> None:
        """Close after all that was written."""

    def writeSequence(self, data: Iterable[bytes]) -> None:
        """Send all of `data` as one write."""
        self.write(b"".join(data))

    def registerProducer(self, producer: IProducer, streaming: bool) -> None:
        """Pause a streaming producer while the buffer is full; resume a pull producer each time the buffer is empty.

        Raises:
            RuntimeError: there is a producer already.
        """
        if self.producer is not None:
            raise RuntimeError(
                f"Cannot register producer {producer}, because producer {self.producer} was never unregistered."
            )
        if self.disconnected:
            producer.stopProducing()
            return
        self.producer = producer
        self.streamingProducer = streaming
        self.producerPaused = False
        if not streaming:
            cast("IPullProducer", producer).resumeProducing()

    def unregisterProducer(self) -> None:
        """Remove the producer."""
        self.producer = None

    def stop_producer(self) -> None:
        """The connection is gone: remove the producer, if there is one, and notify it."""
        producer, self.producer = self.producer, None
        if producer is not None:
            producer.stopProducing()

    def stopProducing(self) -> None:
        """Close as loseConnection does."""
        self.loseConnection()

"""Who asks, on which connection, at what time. Mirrors RequestContext and RequestChannel.Request.

A handler is `handle(request, context) -> HandlerResult`: a response message, a Deferred of one, or a NoAnswer.
Times are the reactor's, in microseconds. A stage that a request passed at once has the time of the stage before.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from twisted.internet.defer import Deferred

from broker_sim.apis.prepared_response import PreparedResponse
from broker_sim.network.request_channel import CallbackRequest
from protocol_specs.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_sim.broker import Broker
    from broker_sim.network.channel import KafkaChannel
    from protocol_specs.api_key import ApiKey
    from protocol_specs.error_codes import ErrorCode

__all__ = [
    "ANSWERS",
    "CLOSE_CONNECTION",
    "NEVER_ANSWERED",
    "NO_RESPONSE",
    "ConnectionInfo",
    "HandlerResult",
    "NoAnswer",
    "RequestContext",
    "Response",
]

DEFAULT_LISTENER: Final = "PLAINTEXT"


class NoAnswer(Enum):
    """What a handler returns when the client gets no response message."""

    NO_RESPONSE = "no response"
    """As acks=0: nothing is sent, the channel reads on. Mirrors RequestChannel.NoOpResponse."""
    CLOSE_CONNECTION = "close the connection"
    """Mirrors RequestChannel.CloseConnectionResponse; see RequestContext.disconnect."""
    NEVER_ANSWERED = "never answered"
    """As where Kafka's handler dies while it makes the error answer: the channel stays open and muted for good."""


NO_RESPONSE: Final = NoAnswer.NO_RESPONSE
CLOSE_CONNECTION: Final = NoAnswer.CLOSE_CONNECTION
NEVER_ANSWERED: Final = NoAnswer.NEVER_ANSWERED

Response: TypeAlias = Message | PreparedResponse
ANSWERS: Final = (PreparedResponse, Message, NoAnswer)
"""What a handler returns at once, of all that is a HandlerResult."""
HandlerResult: TypeAlias = (
    Response | NoAnswer | Deferred[Message] | Deferred[Message | NoAnswer] | Deferred[Response | NoAnswer]
)


@dataclass(slots=True, kw_only=True)
class ConnectionInfo:
    """What is known of a connection. The id is `local host:port-remote host:port-processor-index`."""

    connection_id: str
    client_host: str
    client_port: int = 0
    listener_name: str = DEFAULT_LISTENER
    client_software_name: str = "unknown"
    client_software_version: str = "unknown"
    closed: bool = False


class RequestContext:
    """One request in the broker, from the Processor's read to the last byte of its response."""

    # Not slotted: what few requests ever set is a default of the class, which halves the cost of making one.
    local_done_us = -1
    remote_done_us = -1
    throttle_ms = -1
    close_reason: str | None = None
    handler_held = False
    slot_taken = False
    injected_errors: dict[tuple[str, int], ErrorCode] | None = None
    header_tags: Sequence[tuple[int, bytes]] = ()

    def __init__(
        self,
        broker: Broker,
        connection: ConnectionInfo,
        api_key: ApiKey,
        api_version: int,
        correlation_id: int = 0,
        client_id: str | None = None,
        request: Any = None,
        request_id: int = -1,
        received_us: int = 0,
        size_bytes: int = 0,
        channel: KafkaChannel | None = None,
    ) -> None:
        self.broker = broker
        self.connection = connection
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.request = request
        self.request_id = request_id
        self.received_us = received_us
        self.size_bytes = size_bytes
        self.channel = channel
        self.dequeued_us = received_us

    @property
    def connection_id(self) -> str:
        """Names the connection; unique in the broker's life."""
        return self.connection.connection_id

    @property
    def client_host(self) -> str:
        """The client's address."""
        return self.connection.client_host

    @property
    def listener_name(self) -> str:
        """The listener that accepted the connection; Metadata answers with its addresses."""
        return self.connection.listener_name

    def disconnect(self, reason: str) -> NoAnswer:
        """What a handler returns to close the connection without an answer; `reason` goes to the log."""
        self.close_reason = reason
        return CLOSE_CONNECTION

    def hold_handler(self) -> None:
        """Keep the handler's slot beyond the handler's return, until `release_handler`."""
        self.handler_held = True

    def release_handler(self) -> None:
        """Give the held slot back: what follows (a purgatory, say) needs no handler."""
        if self.handler_held:
            self.handler_held = False
            if self.slot_taken and self.channel is not None:
                self.channel.processor.handler_pool.release(self)

    def on_handler(self, function: Callable[[], None]) -> None:
        """Go on with this request on a handler, before requests that wait. Mirrors wrapAsyncCallback."""
        assert self.channel is not None
        self.channel.processor.handler_pool.call_back(CallbackRequest(context=self, function=function))

    def __repr__(self) -> str:
        return (
            f"<RequestContext {self.request_id}: {self.api_key.api_name} v{self.api_version}, correlation id "
            f"{self.correlation_id}, client {self.client_id!r}, {self.connection.connection_id}>"
        )

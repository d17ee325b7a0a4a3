"""One request in a node, from its arrival to its response. Mirrors RequestContext and RequestChannel.Request.

A handler is `handle(request, context) -> HandlerResult`. Times are the reactor's, in microseconds. A stage that a
request passed at once has the time of the stage before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.handler_result import NoResponse
from broker_sim.config.authorizer_settings import ANONYMOUS
from broker_sim.config.broker_listeners import DEFAULT_LISTENER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_sim.apis.append_hook import AppendHook
    from broker_sim.apis.broker_view import BrokerView
    from broker_sim.apis.handler_result import Response
    from broker_sim.apis.transport import Transport
    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.security.access import Access
    from broker_sim.security.acl import AclOperation, ResourceType
    from protocol_specs.api_key import ApiKey
    from protocol_specs.error_codes import ErrorCode

__all__ = ["ConnectionInfo", "RequestContext"]

NO_REPLICA: Final = -1


@dataclass(slots=True, kw_only=True)
class ConnectionInfo:
    """A client's connection; its id is `local host:port-remote host:port-processor-index`."""

    connection_id: str
    client_host: str
    client_port: int = 0
    listener_name: str = DEFAULT_LISTENER
    principal: str | None = ANONYMOUS
    """Type and name of the client's principal; None for a node of the cluster, and for the cluster's own Python API."""
    security_protocol: str = DEFAULT_LISTENER
    """That of the listener, such as `SASL_PLAINTEXT`."""
    token_authenticated: bool = False
    """The client has logged in with a delegation token (KIP-48)."""
    is_forwarded: bool = False
    """The request is another connection's, which a broker forwards (KIP-590)."""
    client_software_name: str = "unknown"
    client_software_version: str = "unknown"
    closed: bool = False
    when_closed: dict[str, Callable[[], None]] = field(default_factory=dict)
    """Functions to call once when the connection has closed, each under the name of its part."""

    def close(self) -> None:
        """Note that the connection has closed."""
        self.closed = True
        functions, self.when_closed = self.when_closed, {}
        for function in functions.values():
            function()


class RequestContext:
    """One request and its state; `origin` belongs to the transport: a KafkaChannel, or a call over a link."""

    # Not slotted: what few requests ever set is a default of the class, which halves the cost of making one.
    local_done_us = -1
    remote_done_us = -1
    throttle_ms = -1
    replica_id = NO_REPLICA
    """The node that sent the request over a link, -1 for a client."""
    close_reason: str | None = None
    slot_taken = False
    response_lost = False
    """A fault rule drops the response."""
    cut_bytes = -1
    """A fault rule sends only the first bytes of the response and closes the connection; -1 when none does."""
    observed_response: Response | None = None
    """The response as rules have left it, for the observers of responses."""
    injected_errors: dict[tuple[str, int], ErrorCode] | None = None
    """Partitions for which a fault rule wants an error in place of what the handler would do."""
    header_tags: Sequence[tuple[int, bytes]] = ()

    def __init__(
        self,
        broker: BrokerView,
        transport: Transport,
        connection: ConnectionInfo,
        api_key: ApiKey,
        api_version: int,
        correlation_id: int = 0,
        client_id: str | None = None,
        request: Any = None,
        request_id: int = -1,
        received_us: int = 0,
        frame: bytes = b"",
        body_start: int = 0,
        origin: Any = None,
    ) -> None:
        self.broker = broker
        self.transport = transport
        self.connection = connection
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.request = request
        self.request_id = request_id
        self.received_us = received_us
        self.frame = frame
        """The request as it came, without its size; empty where it came by reference."""
        self.body_start = body_start
        self.origin = origin
        self.dequeued_us = received_us
        # Read for each request: a default of the class is read more slowly.
        self.access: Access | None = None
        """The rights of the client; None where nothing is checked: without an authorizer, and between nodes."""
        self.handler_held = False
        self.append_hook: AppendHook | None = None
        """Applies the fault rules to the partitions of a Produce; None while no rule can fire."""

    @property
    def size_bytes(self) -> int:
        """The size of the request's frame; 0 where it came by reference."""
        return len(self.frame)

    @property
    def connection_id(self) -> str:
        """The name of the connection, unique in the broker's run."""
        return self.connection.connection_id

    @property
    def client_host(self) -> str:
        """The client's address."""
        return self.connection.client_host

    @property
    def user(self) -> str:
        """The name of the client's principal, by which quotas find it."""
        return (self.connection.principal or ANONYMOUS).partition(":")[2]

    @property
    def behaviour(self) -> ReleaseBehaviour:
        """The behaviour of the broker's release."""
        return self.broker.config.behaviour

    @property
    def listener_name(self) -> str:
        """The listener that accepted the connection; Metadata returns its addresses."""
        return self.connection.listener_name

    def may(self, operation: AclOperation, resource_type: ResourceType, name: str) -> bool:
        """Return True if the client may do the operation on the resource, as every client may without an authorizer."""
        access = self.access
        return access is None or access.allows(operation, resource_type, name)

    def disconnect(self, reason: str) -> NoResponse:
        """Return the result that closes the connection without a response; `reason` is logged."""
        self.close_reason = reason
        return NoResponse.CLOSE_CONNECTION

    def hold_handler(self) -> None:
        """Occupy the handler beyond the handler function's return, until `release_handler`."""
        self.handler_held = True

    def release_handler(self) -> None:
        """Free a held handler: the next step (such as a purgatory) needs none."""
        if self.handler_held:
            self.handler_held = False
            self.transport.release_handler(self)

    def run_on_handler(self, function: Callable[[], None]) -> None:
        """Run the rest of this request on a handler, before requests that wait. Mirrors wrapAsyncCallback."""
        self.transport.run_on_handler(self, function)

    def __repr__(self) -> str:
        return (
            f"<RequestContext {self.request_id}: {self.api_key.api_name} v{self.api_version}, correlation id "
            f"{self.correlation_id}, client {self.client_id!r}, {self.connection.connection_id}>"
        )

"""One request on its way through the proxy, and the decisions of rules about its response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.handler_result import NoResponse
from broker_sim.config.release_behaviour import DEFAULT_RELEASE, behaviour_of
from broker_sim.faults.interception import FaultPoint
from broker_sim.rpc.named_places import parsed_request
from protocol_specs.api_key import ApiKey
from protocol_specs.framing import decode_request_header
from protocol_specs.named_partitions import partitions_in

if TYPE_CHECKING:
    from broker_sim.wire_proxy.partition_phases import PartitionPhases
    from broker_sim.wire_proxy.proxied_cluster import ProxiedCluster
    from protocol_specs.message import Message

__all__ = ["Exchange"]


class Exchange:
    """It has the names that RequestContext has for the same things, for code that edits requests and makes errors.

    Raises:
        ProtocolError: The header is not that of a known request; the proxy then passes the frame on as it is.
    """

    behaviour: Final = behaviour_of(DEFAULT_RELEASE)
    """Error responses are those of the newest release: a proxy does not know that of the cluster."""

    def __init__(
        self, cluster: ProxiedCluster, frame: bytes, *, node_id: int, connection_id: str, request_id: int, now_us: int
    ) -> None:
        header, self.body_start = decode_request_header(frame)
        self.frame = frame
        self.api_key = ApiKey(header.request_api_key)
        self.api_version = header.request_api_version
        self.correlation_id = header.correlation_id
        self.client_id: str | None = header.client_id
        self.node_id = node_id
        self.connection_id = connection_id
        self.request_id = request_id
        self.received_us = now_us
        self.request: Message | None = None
        self.response_lost = False
        """A rule drops the response and all later ones of the connection."""
        self.phases: PartitionPhases | None = None
        """The phases of its handler, None until it has passed `before_parse`."""
        self.own_response: bytes | None = None
        """The response of the proxy itself, in place of the broker's."""
        self._cluster = cluster

    def point(self, topic: str | None = None, partition: int | None = None) -> FaultPoint:
        """Return the criteria that rules select on, with a partition in the phases of one."""
        return FaultPoint(
            broker_id=self.node_id,
            api_key=self.api_key,
            topic=topic,
            partition=partition,
            topic_id=None if topic is None else self._cluster.topic_ids.get(topic),
            api_version=self.api_version,
            client_id=self.client_id,
            connection_id=self.connection_id,
            request_id=self.request_id,
            request=self.request,
            parse=self.parsed,
            find_places=lambda: partitions_in(self.parsed(), self._cluster.topic_names.get),
        )

    def parsed(self) -> Message | None:
        """Return the request; None for an invalid body."""
        context: Any = self
        return parsed_request(context)

    def disconnect(self, reason: str) -> NoResponse:
        """Return the result that closes the connection without a response."""
        del reason
        return NoResponse.CLOSE_CONNECTION

    @property
    def has_response(self) -> bool:
        """False for a Produce with acks=0."""
        if self.api_key is not ApiKey.PRODUCE:
            return True
        request: Any = self.parsed()
        return request is None or request.acks != 0

"""The API versions of a node: requested on every new connection, before anything else is sent.

Mirrors NetworkClient.handleInitiateApiVersionRequests and handleApiVersionsResponse; KIP-35, KIP-511. For brokers that
have no ApiVersions see version_checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.network.api_versions import ApiVersions, NodeApiVersions
from broker_client.core.network.version_checks import (
    PROBE,
    PROBE_VERSION,
    VersionCheck,
    VersionChecks,
    layout_of,
    versions_before_api_versions,
)
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from sim_runtime.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.network.cluster import Node
    from broker_client.core.network.cluster_connection_states import ClusterConnectionStates
    from broker_client.core.network.in_flight_requests import InFlightRequest, InFlightRequests
    from broker_client.core.network.selector import Selector
    from protocol_specs.message import Message


CLIENT_SOFTWARE_NAME: Final = "broker-sim-python"


class VersionNegotiation:
    """For one network client, whose `send` takes node, request, time and the highest version."""

    __slots__ = ("_api_versions", "_checks", "_in_flight", "_selector", "_send", "_states", "_to_request", "has_news")

    def __init__(
        self,
        *,
        api_versions: ApiVersions,
        connection_states: ClusterConnectionStates,
        selector: Selector,
        in_flight: InFlightRequests,
        send: Callable[[int, Message, int, int | None], object],
    ) -> None:
        self.has_news = False
        """True if a node became ready since this was last set back."""
        self._api_versions = api_versions
        self._states = connection_states
        self._selector = selector
        self._in_flight = in_flight
        self._send = send
        self._to_request: dict[int, int | None] = {}
        self._checks = VersionChecks()

    def connecting(self, node: Node) -> None:
        """A connection begins."""
        self._checks.connecting(node.id, (node.host, node.port))

    def connected(self, node_id: int) -> None:
        """A connection is made: `run` requests its versions."""
        self._to_request.setdefault(node_id, None)

    @property
    def is_busy(self) -> bool:
        """True if the versions of a connection are unknown: otherwise `run` has nothing to do."""
        return bool(self._to_request or self._checks.pending)

    def run(self, now_ms: int) -> None:
        """Request the versions of nodes that can receive it, and probe those that are silent."""
        for node_id, highest in list(self._to_request.items()):
            if not self._selector.is_channel_ready(node_id) or not self._in_flight.can_send_more(node_id):
                self._selector.await_write(node_id)
                continue
            del self._to_request[node_id]
            first = self._checks.begin(node_id, now_ms) if highest is None else VersionCheck.REQUEST
            if first is VersionCheck.ASSUME:
                self._assume(node_id)
                continue
            self._states.checking_api_versions(node_id)
            if first is VersionCheck.PROBE:
                self._send(node_id, PROBE, now_ms, PROBE_VERSION)
            else:
                self._checks.requested(node_id, now_ms)
                request = ApiVersionsRequest(client_software_name=CLIENT_SOFTWARE_NAME, client_software_version=VERSION)
                self._send(node_id, request, now_ms, highest)
        for node_id in self._checks.silent_nodes(now_ms):
            if not self._in_flight.count(node_id) or not self._in_flight.last_sent(node_id).written:
                self._checks.requested(node_id, now_ms)  # its age is unknown yet
                continue
            self._checks.probed_behind(node_id)
            self._send(node_id, PROBE, now_ms, PROBE_VERSION)

    def next_run_ms(self, now_ms: int) -> int:
        """How long until a node has been silent for too long."""
        return self._checks.next_silence_ms(now_ms)

    def request_of(self, node_id: int, payload: bytes) -> InFlightRequest:
        """The request that a response belongs to: the oldest, or the next where a node ignores ApiVersions."""
        request = self._in_flight.complete_next(node_id)
        checks = self._checks
        if checks.unproven:
            checks.unproven.pop(node_id, None)
        if checks.pending:
            correlation_id = int.from_bytes(payload[:4], "big", signed=True)
            if correlation_id != request.correlation_id and checks.is_probed_behind(node_id):
                return self._out_of_turn(request, payload)
        return request

    def _out_of_turn(self, request: InFlightRequest, payload: bytes) -> InFlightRequest:
        """The request of a response that does not belong to `request`, ApiVersions, whose own may be lost."""
        node_id = request.node_id
        layout = layout_of(payload)
        if layout is None or not self._in_flight.count(node_id):
            return request
        probe = self._in_flight.complete_next(node_id)
        if layout == PROBE_VERSION:
            self._in_flight.put_back(request)  # from a broker that has ApiVersions: it is waited for as ever
        else:
            self._checks.passed_over(node_id)
        return probe

    def handle_probe(self, node_id: int, now_ms: int, version: int) -> None:
        """The node has responded to the probe in the layout of a version."""
        then = self._checks.probe_responded(node_id, now_ms, version)
        if then is VersionCheck.REQUEST:
            self._to_request[node_id] = ApiVersionsRequest.VERSIONS.highest
        elif then is VersionCheck.ASSUME:
            self._assume(node_id)

    def handle_api_versions(self, request: InFlightRequest, response: ApiVersionsResponse) -> ErrorCode:
        """Apply the response; an error that is not NONE ends the connection."""
        node_id = request.node_id
        code = ErrorCode(response.error_code)
        if code is ErrorCode.NONE:
            self._checks.responded(node_id)
            self._api_versions.update(node_id, NodeApiVersions.of(response))
            self._states.ready(node_id)
        elif code is ErrorCode.UNSUPPORTED_VERSION and request.api_version > 0:
            announced = NodeApiVersions.of(response).ranges.get(ApiVersionsRequest.API_KEY)
            self._to_request[node_id] = announced.highest if announced is not None else 0
            return ErrorCode.NONE
        return code

    def disconnected(self, node_id: int, *, unanswered: bool) -> None:
        """The connection is gone; `unanswered`: the other side closed it before it sent its versions."""
        self._checks.closed(node_id, unanswered=unanswered)
        self._api_versions.remove(node_id)
        self._to_request.pop(node_id, None)

    def _assume(self, node_id: int) -> None:
        self._api_versions.update(node_id, versions_before_api_versions())
        self._states.ready(node_id)
        self.has_news = True

"""Links of a cluster with several controllers: a broker's requests to the controller go to the active one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.controller.envelope import ForwardedRequest
from broker_sim.controller.group.controller_channel import ControllerChannel
from broker_sim.links.node_links import CONTROLLER_ID, REQUEST_TIMEOUT_MS, NodeLinks
from protocol_specs.messages.broker_heartbeat import BrokerHeartbeatRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.control.journal import Journal
    from broker_sim.controller.group.controller_group import ControllerGroup
    from sim_runtime.interfaces import IReactor

__all__ = ["ControllerLinks"]

FORWARDING_RETRY_TIMEOUT_MS: Final = 60_000
"""How long a broker tries to get the response to a client's request, independent of the client's own time-out."""


class ControllerLinks(NodeLinks):
    """Brokers name CONTROLLER_ID; controllers name each other."""

    def __init__(self, group: ControllerGroup, *, reactor: IReactor, journal: Journal, delay_ms: float) -> None:
        super().__init__(reactor=reactor, journal=journal, delay_ms=delay_ms)
        self._group = group
        self._channels: dict[int, ControllerChannel] = {}

    def call(
        self,
        source: int,
        target: int,
        request: Any,
        on_response: Callable[[Any, int], object],
        on_failure: Callable[[Exception, int], object],
        version: int = 0,
        number: int = 0,
        timeout_ms: int = REQUEST_TIMEOUT_MS,
    ) -> None:
        """As NodeLinks.call, except for requests of brokers to the controller."""
        if target != CONTROLLER_ID or source in self._group.nodes:
            super().call(source, target, request, on_response, on_failure, version, number, timeout_ms)
            return
        channel = self._channels.get(source)
        if channel is None:
            channel = self._channels[source] = ControllerChannel(self._group, source, call=super().call)
        if isinstance(request, BrokerHeartbeatRequest):
            # Half a session, so that a second try can come in time (KAFKA-14392).
            timeout_ms //= 2
        elif isinstance(request, ForwardedRequest):
            timeout_ms = max(timeout_ms, FORWARDING_RETRY_TIMEOUT_MS)
        channel.send(request, version=version, timeout_ms=timeout_ms).addCallbacks(
            lambda response: on_response(response, number), lambda failure: on_failure(failure.value, number)
        )

    def detach(self, node_id: int) -> None:
        """Drop the requests of a node whose process has ended."""
        channel = self._channels.pop(node_id, None)
        if channel is not None:
            channel.stop()
        super().detach(node_id)

    def stop(self) -> None:
        """Drop every call and timer."""
        for channel in self._channels.values():
            channel.stop()
        self._channels.clear()
        super().stop()

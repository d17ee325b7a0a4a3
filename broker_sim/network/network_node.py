"""The part of a broker or controller that its network layer uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker_sim.apis.broker_view import BrokerView

if TYPE_CHECKING:
    from broker_sim.metrics.request_metrics import RequestMetrics
    from broker_sim.rpc.rpc_server import RpcServer
    from broker_sim.security.delegation_token import TokenLogin
    from protocol_specs.sasl.scram import ScramCredential, ScramMechanism

__all__ = ["NetworkNode"]


class NetworkNode(BrokerView, Protocol):
    """Mirrors the constructor arguments of SocketServer."""

    rpc: RpcServer
    request_metrics: RequestMetrics

    def scram_credential(self, user: str, mechanism: ScramMechanism) -> ScramCredential | None:
        """Return the credential of a user that the node's metadata has, None without one."""

    def token_login(self, token_id: str, mechanism: ScramMechanism) -> TokenLogin | None:
        """Return the facts of a delegation token that the node's metadata has, None without one."""

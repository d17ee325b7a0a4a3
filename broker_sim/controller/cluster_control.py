"""The controller's side of the APIs about the cluster as a whole: features, quorum, registrations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.controller.feature_control import FeatureControl
from broker_sim.controller.quorum import Quorum
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.controller.controller import Controller


class ClusterControl:
    """Answers what brokers pass on; without a `quorum` the brokers `broker_ids` are their own."""

    __slots__ = ("_controller", "_explains", "_quorum")

    def __init__(
        self,
        controller: Controller,
        *,
        config: BrokerConfig,
        broker_ids: Sequence[int],
        random: Random,
        quorum: Quorum | None = None,
    ) -> None:
        self._controller = controller
        self._explains = config.behaviour.unregistration_explains
        self._quorum = quorum = quorum or Quorum(controller, voters=broker_ids, random=random)
        FeatureControl(controller, config=config, node_id=quorum.leader_id)
        controller.forwarded[UnregisterBrokerRequest] = self.unregister_broker

    def unregister_broker(
        self,
        request: UnregisterBrokerRequest,
        source: int,  # noqa: ARG002 - any broker may ask
    ) -> UnregisterBrokerResponse:
        """Forget the broker; the answer is made after the commit. Mirrors ClusterControlManager."""
        self._quorum.remember_nodes()
        if self._controller.unregister_broker(request.broker_id):
            return UnregisterBrokerResponse(error_message="")
        message = f"Broker ID {request.broker_id} is not currently registered" if self._explains else ""
        return UnregisterBrokerResponse(error_code=ErrorCode.BROKER_ID_NOT_REGISTERED, error_message=message)

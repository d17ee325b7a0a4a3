"""ControllerRegistration and UnregisterBroker at the active controller. Mirrors ClusterControlManager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.metadata.metadata_image import ControllerRegistration, Endpoint, FeatureRange
from broker_sim.metadata.metadata_record_versions import record_versions
from broker_sim.metadata.metadata_records import METADATA_VERSION
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from protocol_specs.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.controller.controller import Controller
    from broker_sim.controller.quorum_description import QuorumDescription


class ClusterControl:
    """Registers controllers and unregisters brokers; `quorum` keeps the addresses of unregistered nodes."""

    __slots__ = ("_controller", "_explains", "_quorum")

    def __init__(self, controller: Controller, *, config: BrokerConfig, quorum: QuorumDescription) -> None:
        self._controller = controller
        self._explains = config.behaviour.unregistration_explains
        self._quorum = quorum

    def register_controller(self, request: ControllerRegistrationRequest) -> ControllerRegistrationResponse:
        """Store the listeners and the features of a controller (KIP-919)."""
        level = self._controller.image.finalized_features.get(METADATA_VERSION, 0)
        if not record_versions(level).has_controllers:
            return ControllerRegistrationResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, error_message="")
        registration = ControllerRegistration(
            id=request.controller_id,
            incarnation_id=bytes(request.incarnation_id),
            listeners=tuple(
                Endpoint(each.name, each.host, each.port, each.security_protocol) for each in request.listeners
            ),
            features=tuple(
                FeatureRange(each.name, each.min_supported_version, each.max_supported_version)
                for each in request.features
            ),
            zk_migration_ready=request.zk_migration_ready,
        )
        self._controller.change("ControllerRegistration", lambda image: image.with_controller(registration))
        return ControllerRegistrationResponse(error_message="")

    def unregister_broker(self, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
        """Unregister the broker; the response is made after the commit. Mirrors ClusterControlManager."""
        self._quorum.remember_nodes()
        if self._controller.unregister_broker(request.broker_id):
            return UnregisterBrokerResponse(error_message="")
        message = f"Broker ID {request.broker_id} is not currently registered" if self._explains else ""
        return UnregisterBrokerResponse(error_code=ErrorCode.BROKER_ID_NOT_REGISTERED, error_message=message)

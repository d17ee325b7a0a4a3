"""BrokerRegistration (api key 62): the facts that a broker registers, and their validation. Mirrors
BrokerLifecycleManager.sendBrokerRegistration and ClusterControlManager.registerBroker (KIP-631, KIP-858, KIP-903).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from broker_sim.metadata.metadata_image import BrokerRegistration, Endpoint, FeatureRange
from broker_sim.metadata.metadata_record_versions import RecordVersions, record_versions
from broker_sim.metadata.metadata_records import METADATA_VERSION
from broker_sim.metadata.metadata_replay import listeners_of
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.metadata.metadata_image import MetadataImage

__all__ = ["RegisteredBroker", "refuse_registration", "registration_of", "registration_request"]

RESERVED_DIRECTORIES: Final = 100
"""DirectoryId keeps the first hundred ids for itself."""
ORIGINAL_METADATA_VERSION: Final = FeatureRange(METADATA_VERSION, 1, 1)
"""The features of a broker that does not report its levels of metadata.version."""


class RegisteredBroker(Protocol):
    """The facts that a broker registers."""

    id: int
    rack: str | None
    cluster_id: str

    @property
    def host(self) -> str:
        """The advertised host."""

    @property
    def port(self) -> int:
        """The advertised port."""

    @property
    def registered_listeners(self) -> Mapping[str, tuple[str, int]]:
        """The advertised address of each listener; empty for PLAINTEXT alone."""

    @property
    def features(self) -> tuple[FeatureRange, ...]:
        """The features that it supports."""

    @property
    def online_log_dirs(self) -> tuple[bytes, ...]:
        """The ids of the log directories that have not failed."""


def registration_request(
    broker: RegisteredBroker, *, incarnation_id: bytes, previous_broker_epoch: int
) -> BrokerRegistrationRequest:
    """Return the request of a broker that has started; `previous_broker_epoch` is -1 without a clean shutdown."""
    itself = BrokerRegistration(
        id=broker.id,
        host=broker.host,
        port=broker.port,
        rack=broker.rack,
        fenced=True,
        epoch=-1,
        listeners=broker.registered_listeners,
    )
    return BrokerRegistrationRequest(
        broker_id=broker.id,
        cluster_id=broker.cluster_id,
        incarnation_id=incarnation_id,
        listeners=[
            Listener(name=name, host=host, port=port, security_protocol=protocol)
            for name, host, port, protocol in itself.endpoints
        ],
        features=[
            Feature(name=name, min_supported_version=lowest, max_supported_version=highest)
            for name, lowest, highest in broker.features
        ],
        rack=broker.rack,
        log_dirs=list(broker.online_log_dirs),
        previous_broker_epoch=previous_broker_epoch,
    )


def refuse_registration(
    image: MetadataImage, request: BrokerRegistrationRequest, *, has_valid_session: bool
) -> ErrorCode:
    """Return the error of a registration, in the order of Kafka's checks; NONE for a valid one."""
    if request.cluster_id != image.cluster_id:
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    known = image.brokers.get(request.broker_id)
    if known is not None and has_valid_session and known.incarnation_id != request.incarnation_id:
        return ErrorCode.DUPLICATE_BROKER_REGISTRATION
    if request.is_migrating_zk_broker:
        return ErrorCode.BROKER_ID_NOT_REGISTERED
    if _metadata_version(image).has_directories and not _directories_are_good(image, request):
        return ErrorCode.INVALID_REGISTRATION
    return ErrorCode.NONE if _supports_finalized(image, request) else ErrorCode.UNSUPPORTED_VERSION


def registration_of(image: MetadataImage, request: BrokerRegistrationRequest, *, epoch: int) -> BrokerRegistration:
    """The registration to commit: fenced and with a new epoch, unless the same process registers again."""
    endpoints = [Endpoint(each.name, each.host, each.port, each.security_protocol) for each in request.listeners]
    host, port, listeners = listeners_of(endpoints)
    features = tuple(_features(request))
    log_dirs = tuple(map(bytes, request.log_dirs)) if _metadata_version(image).has_directories else ()
    known = image.brokers.get(request.broker_id)
    amended = known is not None and known.incarnation_id == request.incarnation_id
    return BrokerRegistration(
        id=request.broker_id,
        host=host,
        port=port,
        rack=request.rack,
        fenced=known.fenced if known is not None and amended else True,
        epoch=known.epoch if known is not None and amended else epoch,
        incarnation_id=bytes(request.incarnation_id),
        in_controlled_shutdown=known is not None and amended and known.in_controlled_shutdown,
        features=features,
        log_dirs=log_dirs,
        listeners=listeners,
    )


def _metadata_version(image: MetadataImage) -> RecordVersions:
    return record_versions(image.finalized_features.get(METADATA_VERSION, 0))


def _features(request: BrokerRegistrationRequest) -> list[FeatureRange]:
    found = [
        FeatureRange(each.name, each.min_supported_version, each.max_supported_version) for each in request.features
    ]
    if all(each.name != METADATA_VERSION for each in found):
        found.append(ORIGINAL_METADATA_VERSION)
    return found


def _supports_finalized(image: MetadataImage, request: BrokerRegistrationRequest) -> bool:
    supported = {each.name: each for each in _features(request)}
    for name, level in image.finalized_features.items():
        levels = supported.get(name)
        if levels is None or not levels.lowest <= level <= levels.highest:
            return False
    # A feature that is not finalized is at level 0, which a broker that has it must be able to run at.
    return all(
        each.lowest <= 0 or each.name in image.finalized_features
        for each in supported.values()
        if each.name != METADATA_VERSION
    )


def _directories_are_good(image: MetadataImage, request: BrokerRegistrationRequest) -> bool:
    directories = [bytes(each) for each in request.log_dirs]
    reserved = any(int.from_bytes(each) < RESERVED_DIRECTORIES for each in directories)
    taken = any(
        directory in broker.log_dirs
        for broker in image.brokers.values()
        if broker.id != request.broker_id
        for directory in directories
    )
    return bool(directories) and not reserved and not taken and len(set(directories)) == len(directories)

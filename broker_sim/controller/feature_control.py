"""Which feature levels are finalized, and how they change. Mirrors FeatureControlManager (KIP-584, KIP-778).

3.7 checks each feature on its own and applies the valid ones; 4.x applies all or none and returns the first error, in
the order of a Java hash table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs import releases
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order
from protocol_specs.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.controller.controller import Controller

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
FIRST_WITH_FEATURES: Final = 4
"""metadata.version of 3.3-IV0: earlier ones have no feature records."""
DEPENDED_ON: Final = (7, "3.3-IV3")
"""The lowest metadata.version that 4.x allows together with any level of another feature."""
METADATA_CHANGES: Final = (5, 6, 7, 8, 11, 13, 14, 15, 17, 23, 30)
"""The levels of metadata.version that brought new metadata: nothing goes back below one of them."""


class FeatureControl:
    """Serves UpdateFeatures; `node_id` names the controller in messages."""

    __slots__ = ("_all_or_nothing", "_controller", "_names_both_levels", "_node_id", "_supported")

    def __init__(self, controller: Controller, *, config: BrokerConfig, node_id: int) -> None:
        self._controller = controller
        self._node_id = node_id
        self._supported = releases.get(config.release).supported_features
        self._all_or_nothing = config.behaviour.features_change_all_or_nothing
        self._names_both_levels = config.behaviour.downgrades_name_both_levels

    def update(self, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
        """Make the valid changes; the response is made after the commit."""
        wanted = {update.feature: update.max_version_level for update in request.feature_updates}
        kinds = {update.feature: update.upgrade_type for update in request.feature_updates}
        finalized = self._controller.image.finalized_features
        faults = {
            name: self._fault(name, wanted[name], kinds[name], finalized.get(name, 0), wanted.get(METADATA_VERSION))
            for name in hash_order(wanted)
        }
        if self._all_or_nothing:
            fault = next((text for text in faults.values() if text is not None), None)
            if fault is not None:
                if not request.validate_only:
                    self._commit(_applied_before_the_fault(faults, wanted))
                reason = "The update failed for all features since the following feature had an error: "
                return UpdateFeaturesResponse(error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message=reason + fault)
        if not request.validate_only:
            self._commit({name: level for name, level in wanted.items() if faults[name] is None})
        if self._all_or_nothing:
            results = [
                UpdatableFeatureResult(feature=each.feature, error_message="NONE") for each in request.feature_updates
            ]
            return UpdateFeaturesResponse(error_message=None, results=results)
        return UpdateFeaturesResponse(
            error_message="", results=[_result(name, faults[name]) for name in sorted(wanted, key=_java_order)]
        )

    def _commit(self, levels: Mapping[str, int]) -> None:
        finalized = self._controller.image.finalized_features
        changed = {name: level for name, level in ({**finalized, **levels}).items() if level}
        if changed != finalized:
            self._controller.change("UpdateFeatures", lambda image: image.with_finalized_features(changed))

    def _fault(self, name: str, level: int, kind: int, current: int, metadata: int | None) -> str | None:
        reason = self._reason(name, level, kind, current)
        if reason is None and self._all_or_nothing and name not in (METADATA_VERSION, KRAFT_VERSION) and level >= 1:
            least, called = DEPENDED_ON
            if metadata is not None and metadata < least:
                reason = (
                    f"{name} could not be set to {level} because it depends on {METADATA_VERSION}={least} ({called})"
                )
        if reason is not None:
            return f"Invalid update version {level} for feature {name}. {reason}"
        return self._metadata_fault(level, kind, current) if name == METADATA_VERSION else None

    def _reason(self, name: str, level: int, kind: int, current: int) -> str | None:
        if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
            return "The controller does not support the given upgrade type."
        if level < 0:
            return "A feature version cannot be less than 0."
        supported = self._supported.get(name)
        if supported is None:
            if level:
                return f"Local controller {self._node_id} does not support this feature."
            if self._all_or_nothing:
                return f"Feature {name} not found."
        elif level not in supported:
            return f"Local controller {self._node_id} only supports versions {supported.lowest}-{supported.highest}"
        elif (reason := self._reason_of_brokers(name, level)) is not None:
            return reason
        if level < current and kind == UPGRADE:
            return (
                "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
                "unsafe downgrade."
            )
        if level < current and name == KRAFT_VERSION:
            return "Can't downgrade the version of this feature."
        if level > current and kind != UPGRADE:
            return "Can't downgrade to a newer version."
        return None

    def _reason_of_brokers(self, name: str, level: int) -> str | None:
        """Return why a registered broker cannot run at a level: brokers of several releases during an upgrade."""
        for broker in self._controller.image.brokers.values():
            lowest, highest = next(
                ((each.lowest, each.highest) for each in broker.features if each.name == name), (0, 0)
            )
            if not lowest <= level <= highest:
                known = f"only supports versions {lowest}-{highest}" if highest else "does not support this feature."
                return f"Broker {broker.id} {known}"
        return None

    def _metadata_fault(self, level: int, kind: int, current: int) -> str | None:
        if level < FIRST_WITH_FEATURES:
            return f"Invalid metadata.version {level}. Unable to set a metadata.version less than 3.3-IV0"
        if not any(level < change <= current for change in METADATA_CHANGES):
            return None
        if self._names_both_levels:
            where = f"Unsupported metadata.version downgrade from {current} to {level}."
        else:
            where = f"Invalid metadata.version {level}."
        if kind == UNSAFE_DOWNGRADE:
            return f"{where} Unsafe metadata downgrade is not supported in this version."
        return f"{where} Refusing to perform the requested downgrade because it might delete metadata information."


def _applied_before_the_fault(faults: Mapping[str, str | None], wanted: Mapping[str, int]) -> dict[str, int]:
    """kraft.version is raft's own: it has changed when a feature behind it is refused."""
    names = list(faults)
    first = next(index for index, name in enumerate(names) if faults[name] is not None)
    return {KRAFT_VERSION: wanted[KRAFT_VERSION]} if KRAFT_VERSION in names[:first] else {}


def _result(name: str, fault: str | None) -> UpdatableFeatureResult:
    error_code = ErrorCode.NONE if fault is None else ErrorCode.INVALID_UPDATE_VERSION
    return UpdatableFeatureResult(feature=name, error_code=error_code, error_message=fault)


def _java_order(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")

"""AlterConfigs and IncrementalAlterConfigs at the controller: decide, commit, respond. Mirrors
ConfigurationControlManager with ControllerConfigurationValidator.

All changes of one resource are made, or none; those of one request are committed together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.config.api_error import ApiError, Refused
from broker_sim.config.config_resource import (
    CLUSTER_DEFAULT,
    ConfigOperation,
    ConfigRecord,
    ConfigResource,
    ResourceType,
)
from broker_sim.config.definitions import ConfigDefinition, ConfigType, broker_definitions, topic_definitions
from broker_sim.config.java_text import java_split
from broker_sim.config.resource_config_validation import MalformedConfig, validate_client_metrics, validate_group
from broker_sim.config.topic_config_validation import validate_topic_overrides
from broker_sim.config.values import ConfigValueError, render_value
from broker_sim.errors import ConfigError
from broker_sim.metadata.topic_names import refused_name
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order, hash_order_of_changed
from protocol_specs.messages import alter_configs, incremental_alter_configs
from protocol_specs.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from protocol_specs.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.controller.controller import Controller
    from broker_sim.metadata.metadata_image import MetadataImage

_MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
_OPERATIONS: Final = tuple(int(each) for each in ConfigOperation)


class ConfigControl:
    """Serves the changes of configurations that brokers forward."""

    __slots__ = ("_controller",)

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def alter_incrementally(self, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
        """Change single configurations; an unknown operation fails the whole request, as no items do."""
        try:
            errors = self._change_all(request.resources, self._incremental_records, request.validate_only)
        except _FailsTheRequest:
            errors = [ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)] * len(request.resources)
        return IncrementalAlterConfigsResponse(
            responses=[
                incremental_alter_configs.AlterConfigsResourceResponse(
                    error_code=error.code,
                    error_message=error.message,
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
                for resource, error in zip(request.resources, errors, strict=True)
            ]
        )

    def alter(self, request: AlterConfigsRequest) -> AlterConfigsResponse:
        """Replace the configurations of whole resources."""
        errors = self._change_all(request.resources, self._legacy_records, request.validate_only)
        return AlterConfigsResponse(
            responses=[
                alter_configs.AlterConfigsResourceResponse(
                    error_code=error.code,
                    error_message=error.message,
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
                for resource, error in zip(request.resources, errors, strict=True)
            ]
        )

    def _change_all(self, resources: Sequence[Any], records_of: Any, validate_only: bool) -> list[ApiError]:  # noqa: FBT001
        errors: list[ApiError] = []
        committed: list[ConfigRecord] = []
        for each in resources:
            resource = ConfigResource(each.resource_type, each.resource_name)
            before = self._controller.image.config_of(*resource)
            try:
                records = records_of(resource, each.configs, before)
                self._validate(resource, _after(before, records), records)
            except Refused as refused:
                errors.append(refused.error)
            else:
                errors.append(ApiError(ErrorCode.NONE))
                committed += records
        if committed and not validate_only:
            self._controller.change("AlterConfigs", lambda image: _changed(image, committed))
        return errors

    def _incremental_records(
        self,
        resource: ConfigResource,
        changes: Sequence[incremental_alter_configs.AlterableConfig],
        before: Mapping[str, str],
    ) -> list[ConfigRecord]:
        by_name = {change.name: change for change in changes}
        records = []
        for name in hash_order(by_name):
            change = by_name[name]
            if change.config_operation not in _OPERATIONS:
                raise _FailsTheRequest
            operation = ConfigOperation(change.config_operation)
            value: str | None = before.get(name)
            if operation is ConfigOperation.SET:
                value = change.value
            elif operation is ConfigOperation.DELETE:
                value = None
            else:
                value = self._changed_list(resource, name, value, operation, change.value)
            if value != before.get(name) or resource.type == ResourceType.BROKER:
                records.append(ConfigRecord(resource=resource, name=name, value=value))
        return records

    def _changed_list(
        self, resource: ConfigResource, name: str, before: str | None, operation: ConfigOperation, change: str | None
    ) -> str:
        definition = self._list_definition(resource, name)
        if definition is None:
            message = f"Can't {operation.name} to key {name} because its type is not LIST."
            raise Refused(ErrorCode.INVALID_CONFIG, message)
        if change is None:  # brokers reject this, but Kafka's controller does not expect it
            raise _FailsTheRequest
        text = render_value(definition, definition.default) if before is None else before
        items = [item for item in (text or "").split(",") if item]
        for item in java_split(change):
            if operation is ConfigOperation.APPEND:
                if item not in items:
                    items.append(item)
            elif item in items:
                items.remove(item)
        return ",".join(items)

    def _list_definition(self, resource: ConfigResource, name: str) -> ConfigDefinition | None:
        """Return the definition of a list in KafkaConfigSchema, which has those of topics and brokers alone."""
        release = self._controller.config.release
        definition = None
        if resource.type == ResourceType.TOPIC:
            definition = topic_definitions(release).get(name)
        elif resource.type == ResourceType.BROKER:
            definition = broker_definitions(release).get(name)
        return definition if definition is not None and definition.type is ConfigType.LIST else None

    def _legacy_records(
        self, resource: ConfigResource, configs: Sequence[alter_configs.AlterableConfig], before: Mapping[str, str]
    ) -> list[ConfigRecord]:
        after = {each.name: each.value for each in configs}
        records = [
            ConfigRecord(resource=resource, name=name, value=value)
            for name, value in after.items()
            if value != before.get(name) or resource.type == ResourceType.BROKER
        ]
        records += [ConfigRecord(resource=resource, name=name, value=None) for name in before if name not in after]
        return records

    # Validation of the new configurations of a resource.

    def _validate(self, resource: ConfigResource, after: Mapping[str, str], records: list[ConfigRecord]) -> None:
        config = self._controller.config
        try:
            if resource.type == ResourceType.TOPIC:
                self._validate_topic(resource.name, after, config)
            elif resource.type == ResourceType.CLIENT_METRICS:
                validate_client_metrics(resource.name, after, config.release)
            elif resource.type == ResourceType.GROUP:
                validate_group(resource.name, after, config)
        except MalformedConfig as error:
            raise Refused(ErrorCode.INVALID_REQUEST, str(error)) from None
        except ConfigValueError as error:
            if resource.type == ResourceType.CLIENT_METRICS and config.behaviour.scala_collections_in_messages:
                raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR) from None
            raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from None
        except ConfigError as error:
            raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from None
        if resource.type == ResourceType.BROKER and config.behaviour.min_insync_replicas_is_dynamic_default:
            self._validate_min_insync_replicas(resource, records)

    def _validate_topic(self, name: str, after: Mapping[str, str], config: BrokerConfig) -> None:
        if not name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        reason = refused_name(name, illegal=config.behaviour.illegal_topic_names)
        if reason is not None:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
        validate_topic_overrides(after, config.release)
        if name not in self._controller.image.topics:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")

    def _validate_min_insync_replicas(self, resource: ConfigResource, records: list[ConfigRecord]) -> None:
        """While there are ELRs, all brokers share one minimum (KIP-966)."""
        changes = [record for record in records if record.name == _MIN_INSYNC_REPLICAS]
        if not changes:
            return
        if resource.name != CLUSTER_DEFAULT:
            message = "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
            raise Refused(ErrorCode.INVALID_CONFIG, message)
        if changes[0].value is None:
            message = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
            raise Refused(ErrorCode.INVALID_CONFIG, message)


class _FailsTheRequest(Exception):
    pass


def _changed(image: MetadataImage, records: Sequence[ConfigRecord]) -> MetadataImage:
    """Return the image with the configurations; a new min.insync.replicas clears eligible replicas (KIP-966)."""
    minimums = [
        record.resource
        for record in records
        if record.name == _MIN_INSYNC_REPLICAS and record.value != image.config_of(*record.resource).get(record.name)
    ]
    image = image.with_configs(records)
    if not image.elr_enabled:
        return image
    for resource in minimums:
        if resource.type == ResourceType.TOPIC:
            image = image.without_elrs([resource.name])
        elif resource == (ResourceType.BROKER, CLUSTER_DEFAULT):
            image = image.without_elrs(list(image.topics))
    return image


def _after(before: Mapping[str, str], records: Sequence[ConfigRecord]) -> dict[str, str]:
    """Return the configurations with changes, in the order of the HashMap that Kafka makes of them."""
    changes = {record.name: record.value for record in records}
    after = {**before, **changes}
    order = hash_order_of_changed(before, {name: value is not None for name, value in changes.items()})
    return {name: value for name in order if (value := after[name]) is not None}

"""The broker's part of a configuration change, before the controller's. Mirrors ConfigAdminManager.

The broker refuses requests that are invalid without the controller, changes the levels of its own loggers, and
validates new configurations of itself or of all brokers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_sim.config.api_error import ApiError, Refused
from broker_sim.config.broker_config_validation import usable, validate_dynamic_configs
from broker_sim.config.broker_loggers import LoggerRefused
from broker_sim.config.config_resource import ConfigOperation, ResourceType
from broker_sim.config.definitions import ConfigType, broker_definitions
from broker_sim.config.java_text import java_split
from broker_sim.config.values import render_value
from broker_sim.errors import ConfigError
from broker_sim.security.acl import CLUSTER_NAME, AclOperation
from broker_sim.security.acl import ResourceType as AclType
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import alter_configs, incremental_alter_configs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_sim.apis.broker_view import BrokerView
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.config.broker_config import BrokerConfig

Resource: TypeAlias = alter_configs.AlterConfigsResource | incremental_alter_configs.AlterConfigsResource

_INTEGER: Final = re.compile(r"[+-]?\d+")
_INT32: Final = range(-(2**31), 2**31)


def preprocess(
    resources: Sequence[Resource], broker: BrokerView, *, validate_only: bool, context: RequestContext | None = None
) -> list[ApiError | None]:
    """Return one error per resource that is decided already, None where the controller decides.

    The client of `context` needs the right to change loggers.
    """
    may_change_loggers = context is None or context.may(AclOperation.ALTER_CONFIGS, AclType.CLUSTER, CLUSTER_NAME)
    seen: dict[tuple[int, str], int] = {}
    outcomes: list[ApiError | None] = [None] * len(resources)
    for index, resource in enumerate(resources):
        key = (resource.resource_type, resource.resource_name)
        if key in seen:
            twice = ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            outcomes[seen[key]] = outcomes[index] = twice
        seen[key] = index
    for index, resource in enumerate(resources):
        if outcomes[index] is None:
            try:
                outcomes[index] = _preprocess(
                    resource, broker, validate_only=validate_only, may_change_loggers=may_change_loggers
                )
            except Refused as refused:
                outcomes[index] = refused.error
    return outcomes


def _preprocess(
    resource: Resource, broker: BrokerView, *, validate_only: bool, may_change_loggers: bool
) -> ApiError | None:
    names = [each.name for each in resource.configs]
    if len(dict.fromkeys(names)) < len(names):
        raise Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [
        each.name
        for each in resource.configs
        if each.value is None and getattr(each, "config_operation", ConfigOperation.SET) != ConfigOperation.DELETE
    ]
    if nulls:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")
    kind = resource.resource_type
    if kind == ResourceType.BROKER_LOGGER and isinstance(resource, incremental_alter_configs.AlterConfigsResource):
        if not may_change_loggers:
            raise Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        return _change_loggers(resource, broker, validate_only=validate_only)
    if kind == ResourceType.BROKER:
        if resource.resource_name:
            _expect_this_broker(resource.resource_name, broker)
        if isinstance(resource, incremental_alter_configs.AlterConfigsResource):
            configs = _changed(resource, broker)
        else:
            configs = {each.name: each.value for each in resource.configs}
        _validate(configs, resource, broker)
        return None
    known = {ResourceType.TOPIC, ResourceType.CLIENT_METRICS}
    if kind in known or (kind == ResourceType.GROUP and broker.config.behaviour.describes_groups):
        return None
    raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")


def _change_loggers(
    resource: incremental_alter_configs.AlterConfigsResource, broker: BrokerView, *, validate_only: bool
) -> ApiError:
    node_id = _node_id(resource.resource_name)
    if node_id != broker.id:
        received = broker.id if broker.config.behaviour.scala_collections_in_messages else node_id
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unexpected node id. Expected {broker.id}, but received {received}")
    if any(each.config_operation not in _OPERATIONS for each in resource.configs):
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
    try:
        broker.loggers.alter(resource.configs, validate_only=validate_only)
    except LoggerRefused as refused:
        code = ErrorCode.INVALID_CONFIG if refused.invalid_config else ErrorCode.INVALID_REQUEST
        raise Refused(code, str(refused)) from None
    return ApiError(ErrorCode.NONE)


def _expect_this_broker(name: str, broker: BrokerView) -> None:
    if _node_id(name) != broker.id:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {broker.id}, but received {name}")


def _node_id(name: str) -> int:
    if not _INTEGER.fullmatch(name) or int(name) not in _INT32:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    return int(name)


_OPERATIONS: Final = tuple(int(each) for each in ConfigOperation)


def _changed(resource: incremental_alter_configs.AlterConfigsResource, broker: BrokerView) -> dict[str, str | None]:
    """Return the configurations of the broker's resource after the changes. Mirrors prepareIncrementalConfigs."""
    for change in resource.configs:
        if change.config_operation not in _OPERATIONS:
            raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown operations type {change.config_operation}")
    image = broker.metadata_cache.image
    stored = image.config_of(ResourceType.BROKER, resource.resource_name)
    configs: dict[str, str | None] = {**usable(stored, broker.config, per_broker=bool(resource.resource_name))}
    for change in resource.configs:
        name, value = change.name, change.value
        if change.config_operation == ConfigOperation.SET:
            configs[name] = value
        elif change.config_operation == ConfigOperation.DELETE:
            configs.pop(name, None)
        else:
            assert value is not None
            before = configs.get(name)
            adding = change.config_operation == ConfigOperation.APPEND
            configs[name] = _list_with(name, before, value, broker.config, adding=adding)
    return configs


def _list_with(name: str, before: str | None, value: str, config: BrokerConfig, *, adding: bool) -> str:
    definition = broker_definitions(config.release).get(name)
    if definition is None:
        if config.behaviour.unknown_list_is_server_error:
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
        raise Refused(ErrorCode.INVALID_CONFIG, f"Unknown config name: {name}")
    if definition.type is not ConfigType.LIST:
        operation = "append" if adding else "subtract"
        message = f"Config value {operation} is not allowed for config key: {name}"
        raise Refused(ErrorCode.INVALID_CONFIG, message)
    if before is None and definition.required:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
    text = before if before is not None else render_value(definition, definition.default)
    items = text.split(",") if text else []
    if adding:
        items += [item for item in java_split(value) if item not in items]
    else:
        for item in java_split(value):
            if item in items:
                items.remove(item)
    return ",".join(items)


def _validate(configs: Mapping[str, str | None], resource: Resource, broker: BrokerView) -> None:
    texts = {name: value for name, value in configs.items() if value is not None}
    try:
        validate_dynamic_configs(texts, broker.config, per_broker=bool(resource.resource_name))
    except ConfigError as error:
        raise Refused(ErrorCode.INVALID_REQUEST, str(error)) from None

"""Requests that change configurations, and the wait until a broker has taken them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from protocol_specs.messages import alter_configs, incremental_alter_configs
from protocol_specs.messages.alter_configs import AlterConfigsRequest
from protocol_specs.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from protocol_specs.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.differential.probe import attempts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.differential.probe import Probe

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3

NOT_OF_A_TOPIC = (4, 8, 16, 32)

Change = tuple[str, int, str | None]
"""A configuration's name, what to do with it, and the value."""


def incremental(
    *resources: tuple[int, str, list[Change]], validate_only: bool = False
) -> IncrementalAlterConfigsRequest:
    """A request of changes: resource type, name, and what changes."""
    return IncrementalAlterConfigsRequest(
        resources=[
            incremental_alter_configs.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    incremental_alter_configs.AlterableConfig(name=key, config_operation=operation, value=value)
                    for key, operation, value in changes
                ],
            )
            for kind, name, changes in resources
        ],
        validate_only=validate_only,
    )


def legacy(
    *resources: tuple[int, str, list[tuple[str, str | None]]], validate_only: bool = False
) -> AlterConfigsRequest:
    """A request of whole configurations: resource type, name, and all that it shall have."""
    return AlterConfigsRequest(
        resources=[
            alter_configs.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[alter_configs.AlterableConfig(name=key, value=value) for key, value in configs],
            )
            for kind, name, configs in resources
        ],
        validate_only=validate_only,
    )


def described(probe: Probe, kind: int, name: str, key: str, *, broker: int = 1) -> tuple[str | None, int] | None:
    """Value and source of one configuration as the broker describes it now; None when it does not list it."""
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=[key])
    connection = None if broker == 1 else probe.connect(broker)
    response = probe.quiet(DescribeConfigsRequest(resources=[resource]), 4, on=connection)
    assert isinstance(response, DescribeConfigsResponse), response
    configs = [each for each in response.results[0].configs if each.name == key]
    return (configs[0].value, configs[0].config_source) if configs else None


def await_value(probe: Probe, kind: int, name: str, key: str, value: str | None, *, broker: int = 1) -> None:
    """Wait until a broker describes a configuration with this value (None: does not list it), and has applied it."""
    for _ in attempts(f"{key} of {name!r} as {value!r}"):
        found = described(probe, kind, name, key, broker=broker)
        if (None if found is None else found[0]) == value:
            probe.await_applied(broker)
            return


def await_source(probe: Probe, kind: int, name: str, key: str, source: int | None) -> None:
    """Wait until the first broker describes a configuration with this source (None: not listed), and has applied it."""
    for _ in attempts(f"{key} of {name!r} from source {source}"):
        found = described(probe, kind, name, key)
        if (None if found is None else found[1]) == source:
            probe.await_applied()
            return


@contextmanager
def unchanged_after(probe: Probe, kind: int, name: str, *keys: str) -> Iterator[None]:
    """Remove what a case has set of these, and wait for that, so that no other case finds it."""
    before = {key: described(probe, kind, name, key) for key in keys}
    try:
        yield
    finally:
        changes: list[Change] = [(key, DELETE, None) for key in keys]
        response = probe.quiet(incremental((kind, name, changes)), 1)
        assert isinstance(response, IncrementalAlterConfigsResponse), response
        assert response.responses[0].error_code == 0, response
        for key, found in before.items():
            await_source(probe, kind, name, key, None if found is None else found[1])

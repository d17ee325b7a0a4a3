"""The metrics that brokers request from clients (KIP-714), on a cluster that configures them."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from protocol_specs.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol_specs.messages.push_telemetry import PushTelemetryRequest
from protocol_specs.uuids import ZERO_UUID
from tests.differential.case import case
from tests.differential.cases.telemetry import named
from tests.differential.probe import attempts

if TYPE_CHECKING:
    from tests.differential.probe import Connection, Probe

OWN_CLUSTER = (("metadata.max.idle.interval.ms", "503"),)
CLIENT_METRICS = 16
SET, DELETE = 0, 1


def alter(probe: Probe, name: str, **configs: str | None) -> None:
    """Set a subscription's configurations (underscores mean dots), or take them away."""
    resource = AlterConfigsResource(resource_type=CLIENT_METRICS, resource_name=name)
    resource.configs = [
        AlterableConfig(name=key.replace("_", "."), config_operation=DELETE if value is None else SET, value=value)
        for key, value in configs.items()
    ]
    probe.quiet(IncrementalAlterConfigsRequest(resources=[resource]), 1)


def configure(probe: Probe, name: str, **configs: str | None) -> None:
    """Alter a subscription; wait until clients see it."""
    before = _seen(probe)
    alter(probe, name, **configs)
    for _ in attempts(f"clients to see {name}"):
        if _seen(probe) != before:
            return


def _seen(probe: Probe) -> tuple[list[str], int, int]:
    """Return the response of one client id: its subscription's id changes with every change."""
    response: Any = probe.quiet(GetTelemetrySubscriptionsRequest(client_instance_id=ZERO_UUID), 0)
    return response.requested_metrics, response.push_interval_ms, response.error_code


def _exchange(probe: Probe, instance: bytes = ZERO_UUID, *, on: Connection | None = None, note: str = "") -> Any:
    return probe.exchange(
        GetTelemetrySubscriptionsRequest(client_instance_id=instance), 0, on=on, only=named, note=note
    )


def _forget(probe: Probe, *names: str) -> None:
    for name in names:
        configure(probe, name, metrics=None, interval_ms=None, match=None)


@case(settings=OWN_CLUSTER)
def metrics_of_one_and_of_several(probe: Probe) -> None:
    configure(probe, "one", metrics="org.apache.kafka.producer.,org.apache.kafka.consumer.", interval_ms="1000")
    _exchange(probe, note="one")
    configure(probe, "two", metrics="b,a,org.apache.kafka.producer.", interval_ms="500")
    _exchange(probe, note="two")
    configure(probe, "three", metrics="*")
    _exchange(probe, note="everything")
    _forget(probe, "three", "two", "one")
    _exchange(probe, note="nothing")


@case(settings=OWN_CLUSTER)
def many_metrics_come_in_the_order_of_their_hashes(probe: Probe) -> None:
    names = [f"org.apache.kafka.{name}." for name in ("a", "bb", "producer", "consumer.coordinator", "x" * 30)]
    configure(probe, "many", metrics=",".join(names + [f"metric.{number}" for number in range(20)]))
    _exchange(probe)
    _forget(probe, "many")


@case(settings=OWN_CLUSTER)
def patterns(probe: Probe) -> None:
    connection = probe.connect()
    probe.quiet(
        ApiVersionsRequest(client_software_name="apache-probe", client_software_version="4.3.1"), 3, on=connection
    )
    configure(probe, "everybody", metrics="all")
    for number, match in enumerate(
        (
            "client_id=probe",
            "client_id=prob",
            "client_id=pro.*",
            "client_id=other",
            "client_software_name=apache-.*",
            "client_software_version=4\\.3\\..*",
            "client_source_address=127\\.0\\.0\\.1",
            "client_source_port=[0-9]+",
            "client_instance_id=.{22}",
            "client_id=probe,client_software_name=apache-probe",
            "client_id=probe,client_software_name=other",
        )
    ):
        # No client may see this one: the next change, which each client sees, comes after it.
        alter(probe, "some", metrics="some", match=match)
        interval_ms = 20_000 + number
        alter(probe, "everybody", interval_ms=str(interval_ms))
        for _ in attempts(f"everybody to push every {interval_ms} ms"):
            if _seen(probe)[1] == interval_ms:
                break
        _exchange(probe, on=connection, note=match)
    alter(probe, "some", metrics=None, match=None)
    _forget(probe, "everybody")


@case(settings=OWN_CLUSTER)
def a_change_may_be_requested_at_once(probe: Probe) -> None:
    instance = uuid.uuid4().bytes
    _exchange(probe, instance, note="nothing")
    _exchange(probe, instance, note="too early")
    configure(probe, "changing", metrics="a", interval_ms="200000")
    response = _exchange(probe, instance, note="a")
    _exchange(probe, instance, note="too early")
    push = PushTelemetryRequest(client_instance_id=instance, subscription_id=response.subscription_id, metrics=b"x")
    probe.exchange(push, 0, note="push")
    configure(probe, "changing", metrics="b")
    probe.exchange(push, 0, note="of the old subscription")
    _exchange(probe, instance, note="b, after a push")
    _forget(probe, "changing")

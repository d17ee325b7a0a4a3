"""ListConfigResources (once ListClientMetricsResources), as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.list_config_resources import ListConfigResourcesRequest
from tests.differential.case import case
from tests.differential.config_requests import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    TOPIC,
    await_value,
    incremental,
)
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.config_requests import Change
    from tests.differential.probe import Probe


def of_this_case(probe: Probe) -> Callable[[Any], Any]:
    """Return the response without the resources of other cases: those of this case, brokers, and loggers."""

    def only(response: Any) -> Any:
        kept = [
            each
            for each in response["configResources"]
            if each["resourceName"].startswith(probe.name) or each.get("resourceType") in {BROKER, BROKER_LOGGER}
        ]
        return response | {"configResources": kept}

    return only


@case()
def client_metrics_come_and_go(probe: Probe) -> None:
    only = of_this_case(probe)
    name = f"{probe.name}-a"
    for number, operation in enumerate((SET, DELETE)):
        changes: list[Change] = [("interval.ms", operation, None if operation == DELETE else "1000")]
        probe.exchange(incremental((CLIENT_METRICS, name, changes)), 1, note=str(number))
        gone = None if probe.release == "3.7.2" else "300000"
        await_value(probe, CLIENT_METRICS, name, "interval.ms", gone if operation == DELETE else "1000")
        for version in all_versions(ListConfigResourcesRequest):
            probe.exchange(ListConfigResourcesRequest(resource_types=[CLIENT_METRICS]), version, only=only)
            probe.exchange(ListConfigResourcesRequest(), version, only=only)


@case(releases=("4.3.1",))
def every_type(probe: Probe) -> None:
    only = of_this_case(probe)
    probe.topic()
    probe.quiet(incremental((CLIENT_METRICS, f"{probe.name}-m", [("interval.ms", SET, "1000")])), 1)
    probe.quiet(incremental((GROUP, f"{probe.name}-g", [("consumer.session.timeout.ms", SET, "46000")])), 1)
    await_value(probe, GROUP, f"{probe.name}-g", "consumer.session.timeout.ms", "46000")
    for types in (
        [],
        [TOPIC],
        [BROKER],
        [BROKER_LOGGER],
        [CLIENT_METRICS],
        [GROUP],
        [TOPIC, GROUP],
        [TOPIC, TOPIC],
        [TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP],
    ):
        for version in (0, 1):
            request = ListConfigResourcesRequest(resource_types=types)
            probe.exchange(request, version, note=str(types), only=only)
    removed: list[Change] = [("interval.ms", DELETE, None)]
    probe.quiet(incremental((CLIENT_METRICS, f"{probe.name}-m", removed)), 1)
    probe.quiet(incremental((GROUP, f"{probe.name}-g", [("consumer.session.timeout.ms", DELETE, None)])), 1)
    # Other cases list all subscriptions.
    await_value(probe, GROUP, f"{probe.name}-g", "consumer.session.timeout.ms", "45000")


@case(releases=("4.3.1",))
def unknown_types(probe: Probe) -> None:
    for types in ([0], [1], [3], [64], [99], [-1], [TOPIC, 99], [99, TOPIC], [99, 98]):
        probe.exchange(ListConfigResourcesRequest(resource_types=types), 1, note=str(types))


@case(releases=("4.3.1",), brokers=3)
def three_brokers(probe: Probe) -> None:
    for types in ([BROKER], [BROKER_LOGGER], [BROKER, BROKER_LOGGER]):
        probe.exchange(ListConfigResourcesRequest(resource_types=types), 1, note=str(types))


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for version, body, note in ((0, b"", "empty"), (0, b"\0more", "more bytes"), (1, b"\0\0", "null types")):
        probe.raw_body(74, version, body, note=note)


@case(settings=(("metadata.max.idle.interval.ms", "541"),))
def orders_that_tables_decide(probe: Probe) -> None:
    """The sizes of the tables depend on all of a cluster's resources: it has a cluster of its own."""
    only = of_this_case(probe)
    kinds = {CLIENT_METRICS: "interval.ms"} | (
        {} if probe.release == "3.7.2" else {GROUP: "consumer.session.timeout.ms"}
    )
    names = [f"{probe.name}-{number}" for number in (3, 1, 20, 2, 40, 100, 11, 50, 60, 70, 7, 8, 9, 10)]
    for suffix in ("b", "a", "c"):
        probe.topic(suffix)
    for kind, key in kinds.items():
        for name in names:
            probe.quiet(incremental((kind, name, [(key, SET, "46000")])), 1)
            await_value(probe, kind, name, key, "46000")
    for version in all_versions(ListConfigResourcesRequest):
        probe.exchange(ListConfigResourcesRequest(), version, only=only)

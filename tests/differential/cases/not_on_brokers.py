"""APIs for which a KRaft broker's listener closes the connection: those of controllers, voters and ZooKeeper mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.registry import request_type
from tests.differential.case import case

if TYPE_CHECKING:
    from tests.differential.probe import Probe

CONTROLLERS = (52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82)
ZOOKEEPERS = (4, 5, 6, 7)


def _send_all(probe: Probe, api_keys: tuple[int, ...]) -> None:
    for api_key in api_keys:
        request = request_type(api_key)
        for version in request.VERSIONS:
            probe.exchange(request(), version)


@case()
def apis_of_controllers(probe: Probe) -> None:
    _send_all(probe, CONTROLLERS)


@case()
def apis_of_the_zookeeper_era(probe: Probe) -> None:
    _send_all(probe, ZOOKEEPERS)


@case()
def unknown_versions(probe: Probe) -> None:
    for api_key in (*CONTROLLERS, *ZOOKEEPERS):
        for version in (-1, 99):
            probe.raw_body(api_key, version, b"\0" * 8, note=f"version {version}")


@case()
def bodies_that_are_empty(probe: Probe) -> None:
    for api_key in (*CONTROLLERS, *ZOOKEEPERS):
        probe.raw_body(api_key, request_type(api_key).VERSIONS.highest, b"", note="empty")

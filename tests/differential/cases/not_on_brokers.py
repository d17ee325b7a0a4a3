"""What a KRaft broker's listener refuses by closing: controllers' and quorum members' APIs, and ZooKeeper's times'."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.registry import request_type
from tests.differential.case import case

if TYPE_CHECKING:
    from tests.differential.probe import Probe

CONTROLLERS = (52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82)
ZOOKEEPERS = (4, 5, 6, 7)


def _ask_all(probe: Probe, api_keys: tuple[int, ...]) -> None:
    for api_key in api_keys:
        request = request_type(api_key)
        for version in request.VERSIONS:
            probe.ask(request(), version)


@case()
def apis_of_controllers(probe: Probe) -> None:
    _ask_all(probe, CONTROLLERS)


@case()
def apis_of_the_zookeeper_era(probe: Probe) -> None:
    _ask_all(probe, ZOOKEEPERS)


@case()
def versions_that_nobody_knows(probe: Probe) -> None:
    for api_key in (*CONTROLLERS, *ZOOKEEPERS):
        for version in (-1, 99):
            probe.raw_body(api_key, version, b"\0" * 8, note=f"version {version}")


@case()
def bodies_that_are_empty(probe: Probe) -> None:
    for api_key in (*CONTROLLERS, *ZOOKEEPERS):
        probe.raw_body(api_key, request_type(api_key).VERSIONS.highest, b"", note="empty")

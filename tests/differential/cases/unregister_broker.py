"""UnregisterBroker, as raw probes see it: of brokers that are not there, or alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.unregister_broker import UnregisterBrokerRequest
from tests.differential.case import case

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case()
def unknown_brokers(probe: Probe) -> None:
    for broker_id in (77, 0, -1, -2, 1000, 2**31 - 1, -(2**31), 3000):
        probe.exchange(UnregisterBrokerRequest(broker_id=broker_id), 0, note=str(broker_id))


@case()
def other_versions(probe: Probe) -> None:
    for version in (1, 2, -1):
        probe.raw_body(64, version, b"\0\0\0\x4d\0", note=f"version {version}")


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for body, note in (
        (b"", "empty"),
        (b"\0\0\0", "three bytes"),
        (b"\0\0\0\x4d", "no tags"),
        (b"\0\0\0\x4d\1\0\1x", "a tag"),
        (b"\0\0\0\x4d\0more", "more bytes"),
    ):
        probe.raw_body(64, 0, body, note=note)

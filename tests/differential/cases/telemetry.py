"""GetTelemetrySubscriptions and PushTelemetry, as raw probes see them: served, though never listed."""

from __future__ import annotations

import gzip
import struct
import uuid
from typing import TYPE_CHECKING, Any

from protocol_specs.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from protocol_specs.messages.push_telemetry import PushTelemetryRequest
from protocol_specs.uuids import METADATA_TOPIC_UUID, ZERO_UUID
from tests.differential.case import case

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def named(response: dict[str, Any]) -> dict[str, Any]:
    """Return the response with volatile ids replaced."""
    for name in ("clientInstanceId", "subscriptionId"):
        if response.get(name) not in (0, None, "AAAAAAAAAAAAAAAAAAAAAA"):
            response[name] = f"<{name}>"
    return response


def subscribe(probe: Probe, instance: bytes = ZERO_UUID, note: str = "") -> Any:
    """Request a client instance's subscriptions, of a new one by default."""
    return probe.exchange(GetTelemetrySubscriptionsRequest(client_instance_id=instance), 0, only=named, note=note)


def push(probe: Probe, instance: bytes, subscription: int, note: str = "", **fields: Any) -> Any:
    """Push metrics, by default none."""
    request = PushTelemetryRequest(client_instance_id=instance, subscription_id=subscription, **fields)
    return probe.exchange(request, 0, note=note)


@case()
def subscriptions_of_a_new_client(probe: Probe) -> None:
    first = subscribe(probe)
    second = subscribe(probe)
    probe.write(same_instance=first.client_instance_id == second.client_instance_id)


@case()
def subscriptions_of_a_client_with_an_id(probe: Probe) -> None:
    instance = uuid.uuid4().bytes
    response = subscribe(probe, instance)
    probe.write(echoed=response.client_instance_id == instance)
    subscribe(probe, instance, note="at once again")
    subscribe(probe, instance, note="and again")


@case()
def subscription_ids_are_computed(probe: Probe) -> None:
    for _ in range(4):
        instance = uuid.uuid4().bytes
        response: Any = probe.quiet(GetTelemetrySubscriptionsRequest(client_instance_id=instance), 0)
        high, low = struct.unpack(">QQ", instance)
        folded = high ^ low
        java_hash = (folded >> 32) ^ (folded & 0xFFFF_FFFF)
        probe.write(checksum=(response.subscription_id & 0xFFFF_FFFF) ^ java_hash)


@case()
def reserved_ids(probe: Probe) -> None:
    subscribe(probe, METADATA_TOPIC_UUID, note="the metadata topic's id")
    subscribe(probe, METADATA_TOPIC_UUID, note="again")
    for number in (0, 1, 2, 50, 99, 100, 101):
        push(probe, number.to_bytes(16, "big"), 5, note=str(number))
    subscribe(probe, (3).to_bytes(16, "big"), note="3")
    push(probe, (3).to_bytes(16, "big"), 5, note="3")


@case()
def compressed_metrics(probe: Probe) -> None:
    for size in (100, 1_048_576, 1_048_577, 5_000_000):
        response = subscribe(probe)
        push(
            probe,
            response.client_instance_id,
            response.subscription_id,
            compression_type=1,
            metrics=gzip.compress(bytes(size), mtime=0),
            note=f"{size} bytes before",
        )
    for codec in range(1, 5):
        response = subscribe(probe)
        push(
            probe, response.client_instance_id, response.subscription_id, compression_type=codec, note=f"none, {codec}"
        )


@case()
def pushes_of_an_unknown_client(probe: Probe) -> None:
    instance = uuid.uuid4().bytes
    push(probe, instance, 5)
    push(probe, instance, 5, note="again")
    push(probe, instance, 5, terminating=True, note="terminating")
    push(probe, instance, 5, terminating=True, note="terminating again")
    push(probe, instance, 5, note="after the end")
    subscribe(probe, instance)
    subscribe(probe, instance, note="again")


@case()
def a_push_with_the_right_subscription(probe: Probe) -> None:
    response = subscribe(probe)
    instance, subscription = response.client_instance_id, response.subscription_id
    push(probe, instance, subscription, metrics=b"anything")
    push(probe, instance, subscription, metrics=b"anything", note="too early")
    push(probe, instance, subscription, terminating=True, note="terminating")
    push(probe, instance, subscription, note="after the end")
    push(probe, instance, subscription, terminating=True, note="terminating again")
    subscribe(probe, instance, note="after the end")


@case()
def compression_types(probe: Probe) -> None:
    for codec in (0, 1, 2, 3, 4, 5, -1, 127):
        response = subscribe(probe)
        push(
            probe,
            response.client_instance_id,
            response.subscription_id,
            compression_type=codec,
            metrics=b"x",
            note=f"codec {codec}",
        )
        push(probe, response.client_instance_id, response.subscription_id, note="again")


@case()
def the_order_of_errors(probe: Probe) -> None:
    response = subscribe(probe)
    instance, subscription = response.client_instance_id, response.subscription_id
    too_large = b"x" * (1_048_576 + 1)
    push(probe, instance, subscription + 1, compression_type=9, metrics=too_large, note="three faults")
    push(probe, instance, subscription, compression_type=9, metrics=too_large, note="two faults")
    push(probe, instance, subscription, metrics=too_large, note="one fault")
    subscribe(probe, instance, note="requested again after an error")
    push(probe, instance, subscription, note="none")


@case()
def too_large_and_just_not(probe: Probe) -> None:
    for size in (1_048_576, 1_048_577):
        response = subscribe(probe)
        push(probe, response.client_instance_id, response.subscription_id, metrics=b"x" * size, note=f"{size} bytes")


@case()
def the_order_of_errors_of_terminating_clients(probe: Probe) -> None:
    response = subscribe(probe)
    instance, subscription = response.client_instance_id, response.subscription_id
    push(probe, instance, subscription + 1, terminating=True, note="another subscription")
    push(probe, instance, subscription, terminating=True, note="the right one")
    response = subscribe(probe)
    push(
        probe,
        response.client_instance_id,
        response.subscription_id,
        compression_type=9,
        terminating=True,
        note="codec 9",
    )
    push(probe, response.client_instance_id, response.subscription_id, note="after that")
    response = subscribe(probe)
    push(probe, response.client_instance_id, response.subscription_id + 1, note="another subscription")
    push(probe, response.client_instance_id, response.subscription_id, note="the right one, early")
    push(
        probe,
        response.client_instance_id,
        response.subscription_id,
        terminating=True,
        note="the right one, terminating",
    )


@case()
def other_versions(probe: Probe) -> None:
    for api_key in (71, 72):
        for version in (1, -1):
            probe.raw_body(api_key, version, b"\0" * 40, note=f"version {version}")


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    instance = uuid.uuid4().bytes
    for body, note in (
        (b"", "empty"),
        (instance[:15], "a short id"),
        (instance, "no tags"),
        (instance + b"\1\0\1x", "a tag"),
        (uuid.uuid4().bytes + b"\0more", "more bytes"),
    ):
        probe.raw_body(71, 0, body, note=note, only=named)
    for body, note in (
        (b"", "empty"),
        (instance + b"\0\0\0\5\0\0\0\0", "null metrics"),
        (instance + b"\0\0\0\5\0\0\7\0", "metrics cut"),
        (uuid.uuid4().bytes + b"\0\0\0\5\0\0\1", "no tags"),
        (uuid.uuid4().bytes + b"\0\0\0\5\7\0\1\0", "a flag of 7"),
    ):
        probe.raw_body(72, 0, body, note=note)

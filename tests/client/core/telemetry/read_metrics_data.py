"""Reads OpenTelemetry's MetricsData, as far as Kafka's clients write it; anything else in it is an error."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from broker_client.core.telemetry.otlp import Point, Sum

if TYPE_CHECKING:
    from collections.abc import Iterator


def read_metrics_data(data: bytes) -> tuple[list[Point], list[tuple[str, str]]]:
    """The points, and the attributes of the resource, which all of them must share."""
    points, resources = [], []
    for number, whole in fields(data):
        assert number == 1
        (resource_number, resource), (scope_number, scope) = fields(whole)
        assert (resource_number, scope_number) == (1, 2)
        resources.append([key_value(one) for _, one in fields(resource)])
        ((metrics_number, metric),) = fields(scope)
        assert metrics_number == 2
        points.append(point(metric))
    assert all(resource == resources[0] for resource in resources)
    return points, resources[0]


def point(metric: bytes) -> Point:
    (name_number, name), (kind, content) = fields(metric)
    assert name_number == 1
    first, *others = fields(content)
    given: dict[int, Any] = {}
    attributes = []
    for number, value in fields(first[1]):
        if number == 7:
            attributes.append(key_value(value))
        else:
            given[number] = value
    of_sum = None
    if kind == 7:
        (_, temporality), (_, monotonic) = others
        assert monotonic == 1
        of_sum = Sum(since_ms=milliseconds(given.pop(2)), is_delta=temporality == 1)
    time_ms = milliseconds(given.pop(3))
    ((number, raw),) = given.items()
    assert (kind, number) in ((5, 4), (5, 6), (7, 4))
    value = struct.unpack("<d", raw)[0] if number == 4 else struct.unpack("<q", raw)[0]
    return Point(name=name.decode(), attributes=attributes, value=value, time_ms=time_ms, sum=of_sum)


def milliseconds(raw: bytes) -> int:
    nanoseconds: int = struct.unpack("<Q", raw)[0]
    assert nanoseconds % 1_000_000 == 0
    return nanoseconds // 1_000_000


def key_value(data: bytes) -> tuple[str, str]:
    (_, key), (_, value) = fields(data)
    ((_, text),) = fields(value)
    return key.decode(), text.decode()


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Number and content: bytes, or an int of a varint."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 1:
            yield tag >> 3, data[at : at + 8]
            at += 8
        else:
            value, at = varint(data, at)
            if tag & 7 == 0:
                yield tag >> 3, value
            else:
                assert tag & 7 == 2
                yield tag >> 3, data[at : at + value]
                at += value
    assert at == len(data)


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at

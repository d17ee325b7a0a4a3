"""Metrics as OpenTelemetry's protobuf message MetricsData, which PushTelemetry carries. Mirrors SinglePointMetric.

The message is small and does not change, so that its few fields are written here: a library for it would bring the
runtime of protobuf to every user. Each metric stands in a ResourceMetrics of its own and has one point, as Java's do.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Point", "Sum", "metrics_data"]

# What follows a field's number on the wire.
_VARINT: Final = 0
_FIXED_64: Final = 1
_LENGTH_DELIMITED: Final = 2

_DELTA: Final = 1
_CUMULATIVE: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """The properties of a sum's point: its start time, and whether it is a delta to the point before."""

    since_ms: int
    is_delta: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One metric and its value; without `sum` it is a gauge. A whole number is sent as one."""

    name: str
    attributes: Sequence[tuple[str, str]]
    value: float
    time_ms: int
    sum: Sum | None = None


def metrics_data(points: Iterable[Point], resource: Sequence[tuple[str, str]]) -> bytes:
    """MetricsData; `resource` identifies the client of every point."""
    whose = _message(1, b"".join(_key_value(1, key, value) for key, value in resource))
    return b"".join(_message(1, whose + _message(2, _message(2, _metric(point)))) for point in points)


def _metric(point: Point) -> bytes:
    data_point = _message(1, _number_data_point(point))
    if point.sum is None:
        return _text(1, point.name) + _message(5, data_point)
    temporality = _number(2, _DELTA if point.sum.is_delta else _CUMULATIVE)
    is_monotonic = _number(3, 1)
    return _text(1, point.name) + _message(7, data_point + temporality + is_monotonic)


def _number_data_point(point: Point) -> bytes:
    parts = []
    if point.sum is not None:
        parts.append(_time(2, point.sum.since_ms))
    parts.append(_time(3, point.time_ms))
    if isinstance(point.value, int):
        parts.append(_tag(6, _FIXED_64) + struct.pack("<q", point.value))
    else:
        parts.append(_tag(4, _FIXED_64) + struct.pack("<d", point.value))
    parts += [_key_value(7, key, value) for key, value in point.attributes]
    return b"".join(parts)


def _key_value(field: int, key: str, value: str) -> bytes:
    return _message(field, _text(1, key) + _message(2, _text(1, value)))


def _time(field: int, time_ms: int) -> bytes:
    return _tag(field, _FIXED_64) + struct.pack("<Q", time_ms * 1_000_000) if time_ms else b""


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


def _message(field: int, content: bytes) -> bytes:
    return _tag(field, _LENGTH_DELIMITED) + _varint(len(content)) + content


def _number(field: int, value: int) -> bytes:
    return _tag(field, _VARINT) + _varint(value)


def _tag(field: int, wire_type: int) -> bytes:
    return bytes((field << 3 | wire_type,))


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)

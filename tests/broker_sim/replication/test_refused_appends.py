"""Records that a leader refuses: the reason is in the log, and a missing package in the response too."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from twisted.logger import LogEvent, globalLogPublisher

from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.record_batch import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("codec", [CompressionCodec.ZSTD, CompressionCodec.LZ4, CompressionCodec.SNAPPY])
def test_the_response_and_the_log_name_the_package(
    replicas: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, codec: CompressionCodec
) -> None:
    cluster = replicas(brokers=1, replication_factor=1)
    builder = RecordBatchBuilder(codec=codec)
    builder.append(1_767_225_600_000, None, b"v" * 100)
    batch = builder.build()
    for name in ("protocol_specs.records.lz4_frame", "protocol_specs.records.xerial_snappy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "cramjam", None)
    logged: list[LogEvent] = []
    globalLogPublisher.addObserver(logged.append)
    try:
        [result] = cluster.cluster.broker(1).replica_manager.append_records(
            request_id=1, timeout_ms=1_000, required_acks=1, entries=[(cluster.topic, batch)]
        )
    finally:
        globalLogPublisher.removeObserver(logged.append)
    text = f"{codec.type_name} needs the package cramjam: pip install cramjam"
    assert (result.error_code, result.error_message) == (ErrorCode.UNKNOWN_SERVER_ERROR, text)
    [event] = [event for event in logged if event.get("reason") == text]
    assert event["log_failure"] is not None


def test_the_log_has_the_reason_of_refused_records(replicas: Callable[..., Any]) -> None:
    cluster = replicas(brokers=1, replication_factor=1)
    batch = bytearray(cluster.batch(1))
    batch[-1] ^= 0xFF
    logged: list[LogEvent] = []
    globalLogPublisher.addObserver(logged.append)
    try:
        [result] = cluster.cluster.broker(1).replica_manager.append_records(
            request_id=1, timeout_ms=1_000, required_acks=1, entries=[(cluster.topic, bytes(batch))]
        )
    finally:
        globalLogPublisher.removeObserver(logged.append)
    assert result.error_code is ErrorCode.CORRUPT_MESSAGE
    [event] = [event for event in logged if event.get("error") == "CORRUPT_MESSAGE"]
    assert "refusing records" in event["log_format"]

"""Which format goes to which brokers, and what is refused."""

from __future__ import annotations

import pytest

from broker_client.core.batching.compression_ratio import CompressionRatioEstimator
from broker_client.core.batching.message_formats import MessageFormats
from broker_client.core.batching.message_set_batch import MessageSetBatch
from broker_client.core.batching.producer_batch import Compression, ProducerBatch
from broker_client.core.network.api_versions import ApiVersions, NodeApiVersions
from broker_client.core.producer.batch_completion import PartitionResponse
from broker_client.errors import BrokerError, UnsupportedVersion
from broker_client.records import Headers, TopicPartition
from protocol_specs import releases
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.record_set import iterate_any, read_any_record_set

KEY = TopicPartition("t", 0)
NOW_MS = 1_600_000_000_000


def nodes_of(*names: str) -> ApiVersions:
    versions = ApiVersions()
    for node_id, name in enumerate(names):
        versions.update(node_id, NodeApiVersions(releases.get(name).api_versions))
    return versions


def formats_for(
    *names: str, codec: CompressionCodec = CompressionCodec.NONE, identity: str | None = None
) -> MessageFormats:
    return MessageFormats(nodes_of(*names), codec=codec, identity=identity)


def batch_of(
    values: list[bytes],
    *,
    magic: int = 2,
    codec: CompressionCodec = CompressionCodec.NONE,
    headers_of: dict[int, Headers] | None = None,
) -> ProducerBatch:
    compression, estimator = Compression(codec=codec), CompressionRatioEstimator()
    batch: ProducerBatch
    if magic == 2:
        batch = ProducerBatch(
            KEY,
            number=0,
            compression=compression,
            estimator=estimator,
            write_limit_bytes=10_000,
            granted_bytes=0,
            now_ms=0,
        )
    else:
        batch = MessageSetBatch(
            KEY,
            magic=magic,
            number=0,
            compression=compression,
            estimator=estimator,
            write_limit_bytes=10_000,
            granted_bytes=0,
            now_ms=0,
        )
    for index, value in enumerate(values):
        headers = (headers_of or {}).get(index, ())
        assert batch.try_append(NOW_MS + index, None, value, headers, None, 0) is not None
    return batch


@pytest.mark.parametrize(
    ("names", "magic"),
    [
        ((), 2),
        (("4.3.1",), 2),
        (("0.11.0.3",), 2),
        (("0.10.2.2",), 1),
        (("0.9.0.1",), 0),
        (("4.3.1", "0.10.2.2"), 1),
        (("0.10.0.1", "0.8.2.2"), 0),
    ],
)
def test_the_newest_format_that_all_connected_brokers_take_is_used(names: tuple[str, ...], magic: int) -> None:
    assert formats_for(*names).magic == magic


def test_a_broker_that_goes_takes_its_age_with_it() -> None:
    versions = nodes_of("4.3.1", "0.10.2.2")
    versions.remove(1)
    assert versions.max_usable_produce_magic == 2


def test_batches_of_the_newest_format_go_as_they_are() -> None:
    batch = batch_of([b"a"])
    fitted = formats_for("4.3.1").fit(0, [batch])
    assert (fitted.records, fitted.refused, fitted.highest_version) == ([(batch, batch.close())], [], None)


@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.GZIP, CompressionCodec.LZ4])
@pytest.mark.parametrize(("begun", "sent", "name"), [(2, 1, "0.10.2.2"), (2, 0, "0.9.0.1"), (1, 0, "0.9.0.1")])
def test_a_batch_begun_in_a_newer_format_is_converted_down(
    codec: CompressionCodec, begun: int, sent: int, name: str
) -> None:
    values = [b"%d" % number for number in range(20)]
    batch = batch_of(values, magic=begun, codec=codec)
    fitted = formats_for(name, codec=codec).fit(0, [batch])
    ((same, data),) = fitted.records
    assert same is batch
    assert fitted.highest_version == 2
    assert {(header.magic, header.codec) for header, _ in iterate_any(data)} == {(sent, codec)}
    found = list(read_any_record_set(data))
    assert [record.value for record in found] == values
    assert [record.offset for record in found] == list(range(20))
    assert [record.timestamp for record in found] == [NOW_MS + number if sent else -1 for number in range(20)]


def test_one_older_batch_takes_the_others_of_the_request_with_it() -> None:
    fitted = formats_for("4.3.1").fit(0, [batch_of([b"a"]), batch_of([b"b"], magic=1)])
    assert [{header.magic for header, _ in iterate_any(data)} for _, data in fitted.records] == [{1}, {1}]
    assert fitted.highest_version == 2


def test_headers_are_not_lost_on_the_way_down() -> None:
    batch, plain = batch_of([b"a", b"b"], headers_of={1: [("h", b"v")]}), batch_of([b"c"])
    fitted = formats_for("0.10.2.2").fit(0, [batch, plain])
    assert [each for each, _ in fitted.records] == [plain]
    ((refused, response),) = fitted.refused
    assert refused is batch
    text = "headers need brokers of 0.11 or later, and node 0 is of 0.10.0 to 0.10.2: send none"
    assert response == PartitionResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION, message=text, record_errors={1: text}
    )


def test_a_producer_with_an_id_sends_nothing_to_an_older_broker() -> None:
    formats = formats_for("4.3.1", "0.10.2.2", identity="enable.idempotence")
    text = (
        "enable.idempotence needs brokers of 0.11 or later, and node 1 is of 0.10.0 to 0.10.2: "
        "set enable.idempotence=False"
    )
    with pytest.raises(UnsupportedVersion) as caught:
        formats.check_old()
    assert str(caught.value) == text
    fitted = formats.fit(0, [batch_of([b"a"])])
    assert fitted.records == []
    assert [(response.error_code, response.message) for _, response in fitted.refused] == [
        (ErrorCode.UNSUPPORTED_VERSION, text)
    ]


@pytest.mark.parametrize(
    ("name", "release"), [("0.9.0.1", "0.9.0"), ("0.10.2.2", "0.10.0 to 0.10.2"), ("2.0.1", "2.0")]
)
def test_zstd_is_refused_for_a_broker_before_2_1(name: str, release: str) -> None:
    formats = formats_for(name, codec=CompressionCodec.ZSTD)
    text = f"compression.type=zstd needs brokers of 2.1 or later, and node 0 is of {release}"
    fitted = formats.fit(0, [batch_of([b"a"], codec=CompressionCodec.ZSTD)])
    assert fitted.records == []
    ((_, response),) = fitted.refused
    assert response.error_code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert response.message == f"{text}: choose lz4, snappy, gzip or none"
    if formats.magic < 2:
        with pytest.raises(BrokerError, match="UNSUPPORTED_COMPRESSION_TYPE"):
            formats.check_old()


def test_zstd_goes_to_brokers_that_know_it() -> None:
    fitted = formats_for("2.1.1", codec=CompressionCodec.ZSTD).fit(0, [batch_of([b"a"], codec=CompressionCodec.ZSTD)])
    assert (len(fitted.records), fitted.refused) == (1, [])


def test_a_message_set_begins_without_a_header_of_its_own() -> None:
    assert batch_of([], magic=1).estimated_size_in_bytes == 0
    assert batch_of([], magic=1, codec=CompressionCodec.GZIP).estimated_size_in_bytes == 34
    assert batch_of([], magic=0, codec=CompressionCodec.GZIP).estimated_size_in_bytes == 26
    batch = batch_of([b"x" * 66], magic=1)
    assert batch.estimated_size_in_bytes == len(batch.close()) == 100


def test_a_record_with_headers_is_refused_by_a_message_set_of_its_own() -> None:
    batch = batch_of([b"a"], magic=0)
    assert batch.try_append(NOW_MS, None, b"b", [("h", b"v")], None, 0) is None
    with pytest.raises(UnsupportedVersion, match=r"messages of magic 0 have no headers: they need brokers of 0\.11"):
        batch_of([], magic=0).try_append(NOW_MS, None, b"b", [("h", b"v")], None, 0)

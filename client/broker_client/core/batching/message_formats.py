"""Which message format goes to brokers of which age, and what has no place in an old one.

Mirrors what RecordAccumulator, Sender and ProduceRequest of Kafka 3.x do about magic: a batch is begun in the newest
format that all connected brokers take, and converted down when an older one has come since (KIP-98, KIP-110).
Where Kafka would leave headers out on the way down, such records fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from broker_client.core.producer.batch_completion import PartitionResponse
from broker_client.errors import ProducerError, UnsupportedVersion, error_of
from protocol_specs import releases
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import RecordBatchError
from protocol_specs.messages.produce import ProduceRequest
from protocol_specs.records.batch_peek import MAGIC_V2
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.down_conversion import down_convert
from protocol_specs.records.record_set import read_any_record_set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.network.api_versions import ApiVersions
    from broker_client.producer_config import ProducerConfig

__all__ = ["Fitted", "MessageFormats"]

HIGHEST_PRODUCE_OF_MESSAGE_SETS: Final = 2
LOWEST_PRODUCE_OF_ZSTD: Final = 7


@dataclass(slots=True, kw_only=True)
class Fitted:
    """The batches of a Produce request, its highest version, and the batches that fail instead."""

    records: list[tuple[ProducerBatch, bytes]]
    highest_version: int | None = None
    refused: list[tuple[ProducerBatch, PartitionResponse]] = field(default_factory=list)


class MessageFormats:
    """For one producer: `identity` is the option that requires a producer id, None without one."""

    __slots__ = ("_api_versions", "_codec", "_identity")

    def __init__(self, api_versions: ApiVersions, *, codec: CompressionCodec, identity: str | None) -> None:
        self._api_versions = api_versions
        self._codec = codec
        self._identity = identity

    @classmethod
    def of(cls, config: ProducerConfig, codec: CompressionCodec, api_versions: ApiVersions) -> MessageFormats:
        """The formats of a producer with this configuration."""
        identity = "enable.idempotence" if config["transactional.id"] is None else "transactional.id"
        return cls(api_versions, codec=codec, identity=identity if config.idempotent else None)

    @property
    def magic(self) -> int:
        """The format of a new batch."""
        return self._api_versions.max_usable_produce_magic

    def check_old(self) -> None:
        """Raise what keeps this producer from sending a batch of an old format, if anything does."""
        error = self._refusal()
        if error is not None:
            raise error

    def check_headers(self) -> None:
        """Raise UnsupportedVersion when a record with headers could not be sent."""
        if self.magic < MAGIC_V2:
            raise UnsupportedVersion(f"headers need brokers of 0.11 or later, and {self._oldest()}: send none")

    def fit(self, node_id: int, batches: Iterable[ProducerBatch]) -> Fitted:
        """Close the batches, all in one format that the node takes."""
        fitted = Fitted(records=[(batch, batch.close()) for batch in batches])
        magic = self.magic
        for batch, _ in fitted.records:
            magic = min(magic, batch.magic)
        if magic < MAGIC_V2:
            self._fit_old(fitted, magic)
        elif self._codec is CompressionCodec.ZSTD:
            self._fit_zstd(fitted, node_id)
        return fitted

    def _fit_old(self, fitted: Fitted, magic: int) -> None:
        fitted.highest_version = HIGHEST_PRODUCE_OF_MESSAGE_SETS
        error = self._refusal()
        if error is not None:
            fitted.refused = [(batch, _refused(error)) for batch, _ in fitted.records]
            fitted.records = []
            return
        closed, fitted.records = fitted.records, []
        for batch, data in closed:
            if batch.magic == magic:
                fitted.records.append((batch, data))
                continue
            refused = self._refused_headers(data)
            if refused is not None:
                fitted.refused.append((batch, refused))
                continue
            try:
                converted = down_convert(data, to_magic=magic, first_offset=0).records
            except RecordBatchError as error:
                fitted.refused.append((batch, _refused(UnsupportedVersion(str(error)))))
            else:
                fitted.records.append((batch, converted))

    def _fit_zstd(self, fitted: Fitted, node_id: int) -> None:
        node = self._api_versions.get(node_id)
        theirs = None if node is None else node.ranges.get(ProduceRequest.API_KEY)
        if theirs is None or theirs.highest >= LOWEST_PRODUCE_OF_ZSTD:
            return
        refused = _refused(_zstd_refused(f"node {node_id} is of {_releases_with(theirs.highest)}"))
        fitted.refused = [(batch, refused) for batch, _ in fitted.records]
        fitted.records = []

    def _refused_headers(self, data: bytes) -> PartitionResponse | None:
        text = f"headers need brokers of 0.11 or later, and {self._oldest()}: send none"
        errors = {index: text for index, record in enumerate(read_any_record_set(data)) if record.headers}
        if not errors:
            return None
        return PartitionResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, message=text, record_errors=errors)

    def _refusal(self) -> ProducerError | None:
        if self._identity is not None:
            remedy = "set enable.idempotence=False" if self._identity == "enable.idempotence" else "leave it unset"
            text = f"{self._identity} needs brokers of 0.11 or later, and {self._oldest()}: {remedy}"
            return UnsupportedVersion(text)
        return _zstd_refused(self._oldest()) if self._codec is CompressionCodec.ZSTD else None

    def _oldest(self) -> str:
        nodes = self._api_versions.nodes_of_older_formats()
        if not nodes:
            return "the records are for an older one"
        node_id, node = min(nodes.items(), key=lambda one: one[1].usable_produce_magic)
        return f"node {node_id} is of {_releases_with(node.ranges[ProduceRequest.API_KEY].highest)}"


def _refused(error: ProducerError) -> PartitionResponse:
    message = getattr(error, "message", None) or str(error)
    return PartitionResponse(error_code=error.error_code, message=message)


def _zstd_refused(who: str) -> ProducerError:
    text = f"compression.type=zstd needs brokers of 2.1 or later, and {who}: choose lz4, snappy, gzip or none"
    return error_of(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, text)


@cache
def _releases_with(produce_version: int) -> str:
    """The releases whose newest Produce is of this version."""
    if produce_version == 0:
        return "0.8 or 0.9"  # neither reports its versions, so that the oldest are used
    found = [
        name.rpartition(".")[0]
        for name in releases.names()
        if releases.get(name).api_versions[ProduceRequest.API_KEY].highest == produce_version
    ]
    return f"{found[0]} to {found[-1]}" if len(found) > 1 else "".join(found)

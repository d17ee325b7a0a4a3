"""A batch that comes into its partition's queue whole, built by the column. A ProducerBatch in all that follows.

It is closed for appends from the start, so it never lingers; sequences, retries, expiry and splits are those of any
other batch. What it takes from buffer.memory is what it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.batching.producer_batch import Compression, ProducerBatch

if TYPE_CHECKING:
    from broker_client.core.batching.compression_ratio import CompressionRatioEstimator
    from broker_client.records import TopicPartition
    from protocol_specs.records.columnar.builder import RecordsSection

__all__ = ["ReadyMadeBatch"]


class ReadyMadeBatch(ProducerBatch):
    """The records of `section`."""

    __slots__ = ()

    def __init__(
        self,
        topic_partition: TopicPartition,
        section: RecordsSection,
        *,
        number: int,
        compression: Compression,
        estimator: CompressionRatioEstimator,
        size_bytes: int,
        now_ms: int,
    ) -> None:
        super().__init__(
            topic_partition,
            number=number,
            compression=compression,
            estimator=estimator,
            write_limit_bytes=size_bytes,
            granted_bytes=size_bytes,
            now_ms=now_ms,
        )
        self._builder.take_section(
            section.section,
            records_count=section.count,
            base_timestamp=section.base_timestamp,
            max_timestamp=section.max_timestamp,
        )
        self.record_count = section.count
        self.max_record_size = section.max_record_size
        self.estimated_size_in_bytes = self._grown(size_bytes)
        self.close_for_record_appends()

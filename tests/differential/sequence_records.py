"""Record sets drawn for the same partitions: producers go on, repeat themselves, leave gaps, begin anew."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.records.compression import CompressionCodec
from tests.differential.cases.produce_old_formats import messages
from tests.differential.requests import FAR_FUTURE_MS, TIME_MS, batch, message_set, patched, record, sealed, timed

if TYPE_CHECKING:
    from random import Random

PRODUCERS: Final = (7_001, 7_002, 7_003)
MAX_SEQUENCE: Final = 2**31 - 1
OLD_HIGHEST: Final = 2
"""The last version of Produce that carries message sets."""


@dataclass(slots=True)
class RecordDrawer:
    """The records that its producers are expected to have written."""

    random: Random
    sequences: dict[tuple[str, int, int], list[int]] = field(default_factory=dict)
    """(topic, partition, producer id) -> [epoch, next sequence]."""

    _sent: list[bytes] = field(default_factory=list)

    def _pick(self, *values: Any) -> Any:
        return self.random.choice(values)

    def forget(self, topic: str) -> None:
        """A topic is deleted."""
        for key in [key for key in self.sequences if key[0] == topic]:
            del self.sequences[key]

    def _times(self) -> list[int]:
        base = self._pick(TIME_MS, TIME_MS, TIME_MS + 5, TIME_MS - 3, 0, 1, FAR_FUTURE_MS, -1)
        return [base + self._pick(0, 0, 1, 2, 7, -1) for _ in range(self._pick(1, 1, 2, 3))]

    def records(self, topic: str, partition: int, version: int) -> bytes | None:
        if version <= OLD_HIGHEST:
            return self._old_records()
        kind = self.random.randrange(20)
        codec = self.random.choice(list(CompressionCodec))
        if kind < 4:
            return batch(*[b"x" * self._pick(1, 10, 100, 500)] * self._pick(1, 2, 3, 5), key=self._pick(b"k", b"l"))
        if kind < 6:
            return timed(*self._times(), codec=codec)
        if kind < 7:
            return batch(b"v", None, key=self._pick(None, b"k", b""))
        if kind < 15:
            return self._idempotent(topic, partition)
        if kind < 16 and self._sent:
            return self.random.choice(self._sent)
        if kind < 17:
            return self._pick(
                b"", batch(b"a") + batch(b"b"), patched(batch(b"a"), 17, ">I", 1), batch(b"a")[:-1], message_set(1),
                message_set(0), sealed(record(0) + record(0), count=2), sealed(record(1), count=1),
                sealed(record(0), count=2), sealed(record(0), count=1, attributes=0x20),
                sealed(record(0), count=1, base_offset=5), sealed(record(0), count=1, max_timestamp=TIME_MS + 9),
                sealed(record(0, time_delta=3), count=1), sealed(b"", count=0),
                sealed(record(0, attributes=3), count=1),
                sealed(record(0), count=1, partition_leader_epoch=9), sealed(record(0), count=1, attributes=8),
            )  # fmt: skip
        return batch(
            *[bytes([97 + each]) for each in range(self._pick(1, 2, 4))], time_ms=self._times()[0], codec=codec
        )

    def _idempotent(self, topic: str, partition: int) -> bytes:
        producer_id = self.random.choice(PRODUCERS)
        known = self.sequences.setdefault(
            (topic, partition, producer_id), [0, self._pick(0, 0, 0, 3, MAX_SEQUENCE - 1)]
        )
        count = self._pick(1, 1, 2, 3)
        epoch, sequence = known
        kind = self.random.randrange(20)
        if kind < 2:
            known[0] = epoch = epoch + 1
            sequence = 0
            known[1] = count
        elif kind < 3:
            epoch -= 1
        elif kind < 5:
            sequence += self._pick(1, 5)
        elif kind < 7:
            sequence = max(0, sequence - count)
        elif kind < 8:
            sequence = 0
        elif kind < 9 and self._sent:
            return self.random.choice(self._sent)
        else:
            known[1] = sequence + count if sequence + count <= MAX_SEQUENCE else sequence + count - MAX_SEQUENCE - 1
        if sequence > MAX_SEQUENCE:
            sequence -= MAX_SEQUENCE + 1
        data = batch(
            *[b"v"] * count,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            time_ms=TIME_MS + self._pick(0, 0, 1, 3),
            codec=self._pick(*[CompressionCodec.NONE] * 4, CompressionCodec.GZIP),
        )
        self._sent.append(data)
        return data

    def _old_records(self) -> bytes:
        made = [self._message_set() for _ in range(self._pick(1, 1, 1, 2))]
        kind = self.random.randrange(20)
        if kind == 0:
            return self._pick(b"", batch(b"a"), made[0][:-2], made[0] + bytes(3), patched(made[0], 12, ">I", 1))
        return b"".join(made)

    def _message_set(self) -> bytes:
        magic = self._pick(0, 1)
        count = self._pick(1, 1, 2, 3, 5)
        values = [self._pick(b"v", b"x" * 100, None, b"") for _ in range(count)]
        first = self._times()[0]
        return messages(
            magic,
            *values,
            codec=self._pick(*[CompressionCodec.NONE] * 3, *list(CompressionCodec)[1:4]),
            key=self._pick(b"k", b"k", b"l", None),
            times=tuple(max(-1, first + self._pick(0, 1, -1, 5)) for _ in range(count)),
            base_offset=self._pick(0, 0, 7),
        )

"""Compaction of logs with transactions: aborted records, markers and their delete horizon, as readers see them.

Brokers do not verify transactions here, and an administrator's markers end them. The times of records are far ahead of
the clock, so that no marker closes a segment: what a round of compaction reads is closed by the next round's records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.records.batch_builder import RecordBatchBuilder
from protocol_specs.records.batch_peek import iterate_batches
from protocol_specs.records.record_reader import read_records
from tests.differential.case import case
from tests.differential.cases.describe_producers import describe
from tests.differential.config_requests import SET, TOPIC, incremental
from tests.differential.housekeeping import COMPACTED, OFTEN, earliest, latest, offsets, until
from tests.differential.requests import fetch, list_offsets, produce, wanted
from tests.differential.transaction_requests import markers

if TYPE_CHECKING:
    from tests.differential.probe import Probe

SETTINGS: Final = (*OFTEN, ("transaction.partition.verification.enable", "false"))
AHEAD_MS: Final = 3_000_000_000_000
FIRST, SECOND, THIRD = 7_000, 7_001, 7_002
A, B, C = b"a", b"b", b"c"
TOMBSTONES_GO: Final = {"delete_retention_ms": "0"}

Pair = tuple[bytes, bytes | None]


class CompactedLog:
    """A compacted topic with the producers that write to it."""

    def __init__(self, probe: Probe, **config: str) -> None:
        self.probe = probe
        ahead = {"message_timestamp_after_max_ms": "9000000000000"}
        self.topic = probe.topic(**COMPACTED, **ahead, **config)
        self._round = 0
        self._sequences: dict[tuple[int, int], int] = {}

    def write(self, *pairs: Pair, producer: int | None = None, epoch: int = 0) -> None:
        """Append a batch: of a transaction if there is a producer."""
        options: dict[str, Any] = {}
        if producer is not None:
            sequence = self._sequences.get((producer, epoch), 0)
            self._sequences[producer, epoch] = sequence + len(pairs)
            options = {
                "producer_id": producer,
                "producer_epoch": epoch,
                "base_sequence": sequence,
                "is_transactional": True,
            }
        builder = RecordBatchBuilder(**options)
        for key, value in pairs:
            builder.append(AHEAD_MS + 10 * self._round, key, value)
        request = produce(self.topic, builder.build(), transactional_id=None if producer is None else "t")
        response: Any = self.probe.quiet(request, 9)
        assert response.responses[0].partition_responses[0].error_code == 0, response

    def end(self, producer: int, *, commit: bool, epoch: int = 0) -> None:
        """Append a marker."""
        request = markers((producer, epoch, commit, {self.topic: [0]}, 0))
        response: Any = self.probe.quiet(request, 1)
        assert response.markers[0].topics[0].partitions[0].error_code == 0, response

    def set_config(self, name: str, value: str) -> None:
        """Change a configuration of the topic."""
        response: Any = self.probe.quiet(incremental((TOPIC, self.topic, [(name, SET, value)])), 1)
        assert response.responses[0].error_code == 0, response

    def close_segment(self) -> None:
        """Let the next batch of records begin a segment."""
        self._round += 1

    def compact(self, *, note: str) -> None:
        """Close the segment, wait until a replaced record in it is gone, and write down what is left."""
        replaced = latest(self.probe, self.topic)
        self.write((b"replaced", b"1"))
        self.write((b"replaced", b"2"))
        self.close_segment()
        self.write((b"active", b"%d" % self._round))
        until(self.probe, f"round {self._round}", lambda: replaced not in offsets(self.probe, self.topic))
        self.show(note)

    def show(self, note: str) -> None:
        """Write down what both isolation levels read from each offset, and the producers."""
        first, end = earliest(self.probe, self.topic), latest(self.probe, self.topic)
        for level in (0, 1):
            for offset in range(first, end, 2):
                shown = self._read(offset, level)
                self.probe.write(note=f"{note}, from {offset}, isolation level {level}", response=shown)
            for timestamp in (-1, -2, -3, AHEAD_MS + 10):
                request = list_offsets(self.topic, timestamp, isolation_level=level)
                self.probe.exchange(request, 7, note=f"{note}, {timestamp}")
        self.probe.exchange(describe((self.topic, (0,))), 0, note=note)

    def _read(self, offset: int, level: int) -> Any:
        """Return what a Fetch gets, without the times of markers and of delete horizons."""
        response: Any = self.probe.quiet(fetch(self.topic, wanted(offset), isolation_level=level), 12)
        found = response.responses[0].partitions[0]
        aborted = found.aborted_transactions
        return {
            "lastStableOffset": found.last_stable_offset,
            "aborted": None if aborted is None else [[each.producer_id, each.first_offset] for each in aborted],
            "batches": [_shown(header, bytes(view)) for header, view in iterate_batches(bytes(found.records or b""))],
        }


def _shown(header: Any, data: bytes) -> list[Any]:
    records = [
        [each.offset, "marker" if header.is_control else [str(each.key), str(each.value), each.timestamp - AHEAD_MS]]
        for each in read_records(data)
    ]
    place = [header.base_offset, header.last_offset, header.attributes, header.delete_horizon_ms is not None]
    return [*place, header.producer_id, header.producer_epoch, header.base_sequence, *records]


@case(settings=SETTINGS)
def aborted_records_go_before_their_markers(probe: Probe) -> None:
    log = CompactedLog(probe, **TOMBSTONES_GO)
    log.write((A, b"1"), producer=FIRST)
    log.write((A, b"2"), (B, b"3"), producer=SECOND)
    log.write((B, b"4"), producer=FIRST)
    log.end(SECOND, commit=False)
    log.end(FIRST, commit=True)
    log.end(THIRD, commit=False)
    log.write((C, None), producer=FIRST)
    log.end(FIRST, commit=True)
    log.compact(note="one round")
    log.write((A, b"5"), producer=SECOND)
    log.end(SECOND, commit=True)
    log.compact(note="two rounds")
    log.write((B, b"6"), producer=FIRST, epoch=1)
    log.end(FIRST, commit=True, epoch=2)
    log.compact(note="three rounds")


@case(settings=SETTINGS)
def markers_stay_until_their_horizon(probe: Probe) -> None:
    log = CompactedLog(probe)
    for number in range(3):
        log.write((A, b"%d" % number), (B, None), producer=FIRST)
        log.write((C, b"%d" % number), producer=SECOND)
        log.end(FIRST, commit=number != 1)
        log.end(SECOND, commit=number == 1)
        log.compact(note=f"round {number}")


@case(settings=SETTINGS)
def an_aborted_transaction_whose_records_are_gone_below_an_open_one(probe: Probe) -> None:
    # A round before the last write would leave the first batch without records: it would be the producer's last one.
    log = CompactedLog(probe, min_compaction_lag_ms="1")
    log.write((A, b"1"), producer=FIRST)
    log.close_segment()
    log.write((B, b"1"), producer=SECOND)
    log.end(FIRST, commit=False)
    log.write((A, b"2"), producer=FIRST)
    log.set_config("min.compaction.lag.ms", "0")
    until(probe, "a round up to the open transaction", lambda: 0 not in offsets(probe, log.topic))
    log.show("open")
    log.end(SECOND, commit=False)
    log.end(FIRST, commit=True)
    log.compact(note="ended")

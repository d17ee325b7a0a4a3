"""A log against a list of records: after appends, reads and truncations both agree."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.replica_log import ReplicaLog
from protocol_specs.records.record_batch import RecordBatchBuilder, read_records

NOW_MS = 1_767_225_600_000
BROKER = BrokerConfig.parse({}, release="3.7.2")


class ReplicaLogMachine(RuleBasedStateMachine):
    """The model: the batches as (base offset, values, epoch), and where the log ends."""

    @initialize(segment_bytes=st.sampled_from([200, 1000, 1 << 30]))
    def start(self, segment_bytes: int) -> None:
        config = TopicConfig.resolve({"segment.bytes": str(segment_bytes)}, BROKER)
        self.log, self.follower = (
            ReplicaLog(topic="t", partition=0, config=config, broker_config=BROKER, now_ms=NOW_MS) for _ in range(2)
        )
        self.model: list[tuple[int, list[bytes], int]] = []
        self.end = 0
        self.epoch = 0

    @rule(values=st.lists(st.binary(max_size=20), min_size=1, max_size=3), new_epoch=st.booleans())
    def append(self, values: list[bytes], new_epoch: bool) -> None:
        self.epoch += new_epoch
        builder = RecordBatchBuilder(producer_id=self.end, producer_epoch=0, base_sequence=0)
        for value in values:
            builder.append(NOW_MS, None, value)
        info = self.log.append_as_leader(builder.build(), leader_epoch=self.epoch, now_ms=NOW_MS)
        assert (info.base_offset, info.last_offset) == (self.end, self.end + len(values) - 1)
        self.model.append((self.end, values, self.epoch))
        self.end += len(values)

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        starts = [base for base, _, _ in self.model] + [self.end]
        offset = data.draw(st.sampled_from(starts))
        removed = self.log.truncate_to(offset).removed
        assert [batch.base_offset for batch in removed] == [base for base, _, _ in self.model if base >= offset]
        self.model = [entry for entry in self.model if entry[0] < offset]
        self.end = offset
        if self.follower.log_end_offset > offset:
            self.follower.truncate_to(offset)

    @rule(max_bytes=st.integers(min_value=1, max_value=600))
    def replicate(self, max_bytes: int) -> None:
        found = self.log.read(self.follower.log_end_offset, max_bytes=max_bytes)
        self.follower.append_as_follower(found, now_ms=NOW_MS)

    @rule(data=st.data(), max_bytes=st.integers(min_value=0, max_value=600))
    def read(self, data: st.DataObject, max_bytes: int) -> None:
        offset = data.draw(st.integers(min_value=0, max_value=self.end))
        bound = data.draw(st.integers(min_value=0, max_value=self.end))
        found = self.log.read(offset, max_bytes=max_bytes, up_to=bound)
        bases = [batch.base_offset for batch in found]
        expected = [base for base, values, _ in self.model if base + len(values) > offset and base < bound]
        assert bases == expected[: len(bases)] if offset < bound else not bases
        assert bool(bases) == (offset < bound)
        assert sum(batch.size for batch in found) <= max(max_bytes, found[0].size if found else 0)

    @invariant()
    def agrees(self) -> None:
        stored = [
            (batch.base_offset, [record.value for record in read_records(batch.data)], batch.leader_epoch)
            for batch in self.log.batches()
        ]
        assert stored == self.model
        assert self.log.log_end_offset == self.end
        epochs = list(dict.fromkeys(epoch for _, _, epoch in self.model))
        assert [entry.epoch for entry in self.log.epochs.entries] == epochs
        assert sorted(self.log.producers.active_producers) == [base for base, _, _ in self.model]

    @invariant()
    def follower_is_a_prefix(self) -> None:
        mine = list(self.log.batches())
        theirs = list(self.follower.batches())
        assert all(ours is other for ours, other in zip(theirs, mine, strict=False))
        assert len(theirs) <= len(mine)


ReplicaLogMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestReplicaLog = ReplicaLogMachine.TestCase

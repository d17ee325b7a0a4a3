"""Sends, time, errors, lost answers, crashes and leader moves in any order: what a producer promises holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from twisted.internet.defer import Deferred

from broker_client.core.producer_core import ProducerCore
from broker_client.producer_config import ProducerConfig
from broker_client.records import RecordMetadata, TopicPartition
from protocol_specs.error_codes import ErrorCode
from sim_runtime.world import World
from tests.client.scripted_broker import Act, ScriptedCluster

if TYPE_CHECKING:
    from broker_client.errors import ProducerError

PARTITIONS = 3
DELIVERY_TIMEOUT_MS = 4_000
RETRIABLE = [
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.CORRUPT_MESSAGE,
]
HEALED_BY_RETRIES = st.one_of(
    st.builds(Act, error=st.sampled_from(RETRIABLE)),
    st.builds(Act, appends=st.booleans(), disconnects=st.just(True)),
    st.builds(Act, appends=st.booleans(), answers=st.just(False)),
    st.builds(Act, appends=st.just(True), delay_ms=st.integers(1, 1_500)),
)
FATAL = st.sampled_from([ErrorCode.INVALID_RECORD, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.TOPIC_AUTHORIZATION_FAILED])


class Sent:
    """One record and everything that was heard of it."""

    def __init__(self, number: int, partition: int) -> None:
        self.number = number
        self.partition = partition
        self.heard: list[tuple[RecordMetadata, ProducerError | None]] = []
        self.future: Any = None

    @property
    def value(self) -> bytes:
        return b"%06d" % self.number + b"." * (self.number % 7 * 40)


class ProducerMachine(RuleBasedStateMachine):
    options: dict[str, object] = {}
    keeps_order = True
    writes_once = True
    # A batch that fails for good bumps the epoch, and the bump numbers anew what is in flight: as with Kafka's own
    # producer, a lost answer may then be written twice (KIP-360).
    fails_for_good = False

    @initialize(
        seed=st.integers(0, 999), codec=st.sampled_from(["none", "gzip"]), linger_ms=st.sampled_from([0, 5, 50])
    )
    def start(self, seed: int, codec: str, linger_ms: int) -> None:
        self.world = World(seed)
        self.cluster = ScriptedCluster(self.world, brokers=2)
        self.cluster.create("t", partitions=PARTITIONS)
        self.cluster.takes_any_first_sequence = False
        config = ProducerConfig(
            bootstrap_servers=self.cluster.bootstrap_servers,
            compression_type=codec,
            linger_ms=linger_ms,
            batch_size=300,
            buffer_memory=2_000,
            request_timeout_ms=1_000,
            delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
            max_block_ms=3_000,
            **self.options,
        )
        self.producer = ProducerCore(config, self.cluster.client, self.world.streams.stream("producer"))
        self.sent: list[Sent] = []
        self.flushes: list[Any] = []

    @rule(partition=st.integers(0, PARTITIONS - 1), count=st.integers(1, 6))
    def send(self, partition: int, count: int) -> None:
        for _ in range(count):
            one = Sent(len(self.sent), partition)
            self.sent.append(one)
            one.future = self.producer.send(
                "t", one.value, partition=partition, on_delivery=lambda *heard, one=one: one.heard.append(heard)
            )

    @rule(ms=st.integers(0, 700))
    def let_time_pass(self, ms: int) -> None:
        self.world.run_for(ms=ms)

    @rule(act=HEALED_BY_RETRIES)
    def answer_one_request_so(self, act: Act) -> None:
        self.cluster.script.append(act)

    @precondition(lambda self: self.fails_for_good)
    @rule(code=FATAL)
    def fail_one_request_for_good(self, code: ErrorCode) -> None:
        self.cluster.script.append(Act(error=code))

    @rule(partition=st.integers(0, PARTITIONS - 1), leader=st.sampled_from([1, 2, None]))
    def move_a_leader(self, partition: int, leader: int | None) -> None:
        self.cluster.move_leader(TopicPartition("t", partition), leader)

    @rule(broker=st.sampled_from([1, 2]))
    def restart_a_broker(self, broker: int) -> None:
        self.cluster.brokers[broker].crash()
        self.cluster.brokers[broker].start()

    @rule()
    def flush(self) -> None:
        self.flushes.append(Deferred.fromCoroutine(self.producer.flush()))

    @invariant()
    def nothing_is_heard_twice(self) -> None:
        for one in getattr(self, "sent", []):
            assert len(one.heard) <= 1
            assert bool(one.heard) == one.future.done()

    def teardown(self) -> None:
        if not hasattr(self, "sent"):
            return
        for partition in range(PARTITIONS):
            if self.cluster.topics["t"].leaders[partition] is None:
                self.cluster.move_leader(TopicPartition("t", partition), 1)
        for flushed in self.flushes:
            self.world.run_until(flushed, deadline_ms=15_000)
        # Nothing waits past max.block.ms + delivery.timeout.ms, whatever happened.
        self.world.run_until(lambda: all(one.future.done() for one in self.sent), deadline_ms=10_000)
        self.world.run_for(ms=1_500)
        assert self.producer.pool.available_bytes == self.producer.pool.memory_bytes
        assert self.producer.loop_errors == 0
        self.world.run_until(self.producer.close(0))
        self.nothing_is_heard_twice()
        for partition in range(PARTITIONS):
            self.check_log(partition)

    def check_log(self, partition: int) -> None:
        stored = self.cluster.values("t", partition)
        of_partition = [one for one in self.sent if one.partition == partition]
        for one in of_partition:
            ((metadata, error),) = one.heard
            if error is None:
                assert metadata.offset == -1 or stored[metadata.offset] == one.value
                assert one.value in stored
            elif not error.maybe_written:
                assert one.value not in stored
        if self.keeps_order:
            firsts = list(dict.fromkeys(stored))
            assert firsts == sorted(firsts)
        if self.writes_once:
            assert len(stored) == len(dict.fromkeys(stored))


class FatalErrorsMachine(ProducerMachine):
    fails_for_good = True
    keeps_order = False
    writes_once = False


class OneInFlightMachine(ProducerMachine):
    options = {"enable_idempotence": False, "max_in_flight_requests_per_connection": 1}
    fails_for_good = True
    writes_once = False


class FiveInFlightMachine(ProducerMachine):
    options = {"enable_idempotence": False, "acks": "1"}
    fails_for_good = True
    keeps_order = False
    writes_once = False


def claim(machine: type[ProducerMachine]) -> Any:
    case = machine.TestCase
    case.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
    return case


TestIdempotent = claim(ProducerMachine)
TestFatalErrors = claim(FatalErrorsMachine)
TestOneInFlight = claim(OneInFlightMachine)
TestFiveInFlight = claim(FiveInFlightMachine)

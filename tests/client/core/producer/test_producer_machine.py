"""A producer's guarantees hold for any configuration, callers, brokers, network and timing.

Safety while everything goes wrong, in any order; then what is broken is healed, and everything has to end in time, all
memory to come back, and the producer to be of use again. Which features take part is drawn for each run (swarm).
"""

from __future__ import annotations

import random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from twisted.internet.defer import Deferred

from broker_client.core.batching.partitioners import RoundRobinPartitioner
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from sim_runtime.world import World
from tests.client.producer_promises import Promises
from tests.client.scripted_broker import Action
from tests.client.watched_producer import Sent, WatchedCluster, WatchedProducer

E = ErrorCode
BROKERS = 2
PARTITIONS = {"t": 3, "u": 1}
FOREVER = 2**31 - 1
PROBES = 6
SENT_BEFORE_THE_END = 15
SENT_WITH_AN_ACT = 2
RETRIABLE = [
    E.NOT_ENOUGH_REPLICAS,
    E.NOT_LEADER_OR_FOLLOWER,
    E.FENCED_LEADER_EPOCH,
    E.REQUEST_TIMED_OUT,
    E.UNKNOWN_TOPIC_OR_PARTITION,
    E.CORRUPT_MESSAGE,
]
FATAL = [E.INVALID_RECORD, E.TOPIC_AUTHORIZATION_FAILED, E.UNKNOWN_SERVER_ERROR, E.OUT_OF_ORDER_SEQUENCE_NUMBER]
LOST = st.one_of(
    st.builds(Action, appends=st.booleans(), disconnects=st.just(True)),
    st.builds(Action, appends=st.booleans(), responds=st.just(False)),
)
FEATURES = (
    "callers",
    "errors",
    "fatal errors",
    "refused for ever",
    "too large",
    "losses",
    "delays",
    "throttles",
    "leaders",
    "restarts",
    "outages",
    "cuts",
    "partitions",
    "metadata",
    "forgetting",
    "refused ids",
    "flush",
    "close",
    "late faults",
)


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    """Small numbers: what takes minutes with defaults happens here within a few steps."""
    linger_ms = draw(st.sampled_from([0, 5, 50, 500]))
    request_timeout_ms = draw(st.sampled_from([200, 500]))
    options: dict[str, Any] = {
        "linger.ms": linger_ms,
        "request.timeout.ms": request_timeout_ms,
        "delivery.timeout.ms": linger_ms + request_timeout_ms + draw(st.sampled_from([0, 50, 700, 3_000])),
        "max.block.ms": draw(st.sampled_from([0, 300, 3_000, 3_000])),
        "batch.size": draw(st.sampled_from([0, 150, 300, 900])),
        "buffer.memory": draw(st.sampled_from([900, 900, 1_500, 4_000, 20_000])),
        "max.request.size": draw(st.sampled_from([500, 10_000])),
        "compression.type": draw(st.sampled_from(["none", "none", "gzip", "snappy", "lz4", "zstd"])),
        "enable.idempotence": draw(st.booleans()),
        "retry.backoff.ms": draw(st.sampled_from([10, 100])),
        "metadata.max.age.ms": draw(st.sampled_from([1_000, 300_000])),
        "partitioner.availability.timeout.ms": draw(st.sampled_from([0, 100])),
        "partitioner.adaptive.partitioning.enable": draw(st.booleans()),
        "partitioner.ignore.keys": draw(st.booleans()),
        "socket.connection.setup.timeout.ms": 400,
        "socket.connection.setup.timeout.max.ms": 800,
    }
    if options["enable.idempotence"]:
        options["max.in.flight.requests.per.connection"] = draw(st.integers(1, 5))
        options["retries"] = draw(st.sampled_from([1, FOREVER, FOREVER]))
    else:
        options["acks"] = draw(st.sampled_from(["0", "1", "all"]))
        options["max.in.flight.requests.per.connection"] = draw(st.sampled_from([1, 1, 3, 7]))
        options["retries"] = draw(st.sampled_from([0, 1, FOREVER]))
    if draw(st.integers(0, 3)) == 0:
        options["partitioner.class"] = RoundRobinPartitioner()
    return options


def filler_of(size: int) -> bytes:
    """Half of the sizes compress well, the others not at all."""
    return b"." * size if size % 2 else random.Random(size).randbytes(size)


def with_feature(name: str) -> Any:
    return precondition(lambda self: name in self.features)


class ProducerMachine(RuleBasedStateMachine):
    @initialize(
        seed=st.integers(0, 999),
        options=configurations(),
        features=st.fixed_dictionaries({name: st.booleans() for name in FEATURES}),
        first_epoch=st.sampled_from([0, 0, 32_766]),
        knows_topics=st.booleans(),
    )
    def start(
        self, seed: int, options: dict[str, Any], features: dict[str, bool], first_epoch: int, knows_topics: bool
    ) -> None:
        self.features = [name for name, takes_part in features.items() if takes_part]
        self.world = World(seed)
        self.cluster = WatchedCluster(self.world, BROKERS)
        self.cluster.next_producer_epoch = first_epoch
        for topic, partitions in PARTITIONS.items():
            self.cluster.create(topic, partitions=partitions)
        if "too large" in self.features:
            self.cluster.max_batch_bytes = 220
        self.producer = WatchedProducer(self.world, self.cluster, options)
        self.promises = Promises(self.producer)
        self.down: set[int] = set()
        self.cut: set[int] = set()
        if knows_topics:
            for topic in PARTITIONS:
                Deferred.fromCoroutine(self.producer.core.partitions_for(topic)).addErrback(lambda _: None)
            self.world.run_for(ms=20)

    def send_one(self, sender: str, topic: str, partition: int | None, key: bytes | None, size: int) -> Sent:
        if partition is not None and not (partition == PARTITIONS[topic] and "partitions" in self.features):
            partition %= PARTITIONS[topic]
        one = self.producer.new(sender, topic, partition, key, filler_of(size))
        if sender == "reactor":
            self.producer.send(one)
        else:
            self.producer.callers[sender].send(one)
        return one

    places = st.one_of(
        st.tuples(st.integers(0, 3), st.none()),
        st.tuples(st.none(), st.one_of(st.none(), st.binary(max_size=1))),
    )
    sizes = st.one_of(st.integers(0, 100), st.integers(0, 700))

    @rule(topic=st.sampled_from(["t", "t", "u"]), where=places, size=sizes, count=st.integers(1, 6))
    def send(self, topic: str, where: tuple[int | None, bytes | None], size: int, count: int) -> None:
        for _ in range(count):
            self.send_one("reactor", topic, *where, size)

    @rule(partition=st.integers(0, 2), count=st.integers(1, 6), size=st.integers(0, 100), ms=st.integers(0, 200))
    def send_and_wait(self, partition: int, count: int, size: int, ms: int) -> None:
        for _ in range(count):
            self.send_one("reactor", "t", partition, None, size)
        self.world.run_for(ms=ms)

    @rule(topic=st.sampled_from(["t", "t", "u"]), count=st.integers(1, 9), size=sizes, ms=st.integers(0, 60))
    def send_without_key_and_wait(self, topic: str, count: int, size: int, ms: int) -> None:
        for _ in range(count):
            self.send_one("reactor", topic, None, None, size)
        self.world.run_for(ms=ms)

    @with_feature("callers")
    @rule(
        callers=st.integers(1, 3),
        topic=st.sampled_from(["t", "u"]),
        where=places,
        size=sizes,
        count=st.integers(1, 4),
    )
    def call(self, callers: int, topic: str, where: tuple[int | None, bytes | None], size: int, count: int) -> None:
        for _ in range(count):
            for caller in "abc"[:callers]:
                self.send_one(caller, topic, *where, size)

    @rule(ms=st.one_of(st.integers(0, 30), st.integers(0, 1_200)))
    def let_time_pass(self, ms: int) -> None:
        self.world.run_for(ms=ms)

    def script_next_response(self, *acts: Action) -> None:
        """Script the next responses, and make a request due."""
        self.cluster.script.extend(acts)
        for _ in range(SENT_WITH_AN_ACT):
            self.send_one("reactor", "t", len(self.producer.sent) % 2, None, len(self.producer.sent) % 90)
        self.world.run_for(ms=len(self.producer.sent) % 10)

    @with_feature("errors")
    @rule(code=st.sampled_from(RETRIABLE), count=st.integers(1, 4))
    def refuse_for_now(self, code: ErrorCode, count: int) -> None:
        self.script_next_response(*[Action(error=code) for _ in range(count)])

    @with_feature("fatal errors")
    @rule(code=st.sampled_from(FATAL))
    def refuse_for_good(self, code: ErrorCode) -> None:
        self.script_next_response(Action(error=code))

    @with_feature("refused for ever")
    @precondition(lambda self: len(self.producer.sent) >= SENT_BEFORE_THE_END)
    @rule()
    def refuse_the_producer_for_ever(self) -> None:
        """With idempotence this is the end; without it, no more than an error of the request's records."""
        self.script_next_response(Action(error=E.CLUSTER_AUTHORIZATION_FAILED))

    @with_feature("too large")
    @rule()
    def find_a_batch_too_large(self) -> None:
        self.script_next_response(Action(error=E.MESSAGE_TOO_LARGE))

    @with_feature("losses")
    @rule(act=LOST)
    def lose_a_response(self, act: Action) -> None:
        self.script_next_response(act)

    @with_feature("delays")
    @rule(delay_ms=st.integers(1, 1_500), error=st.sampled_from([E.NONE, E.NONE, *RETRIABLE]))
    def respond_late(self, delay_ms: int, error: ErrorCode) -> None:
        self.script_next_response(Action(appends=error is E.NONE, error=error, delay_ms=delay_ms))

    @with_feature("throttles")
    @rule(throttle_ms=st.integers(1, 800))
    def throttle(self, throttle_ms: int) -> None:
        self.script_next_response(Action(appends=True, throttle_ms=throttle_ms))

    @with_feature("late faults")
    @rule(count=st.integers(1, 3))
    def respond_well(self, count: int) -> None:
        self.script_next_response(*[Action(appends=True) for _ in range(count)])

    @with_feature("leaders")
    @rule(
        topic=st.sampled_from(["t", "u"]),
        partition=st.integers(0, 2),
        leader=st.sampled_from([1, 2, None]),
        is_reported=st.booleans(),
    )
    def move_a_leader(self, topic: str, partition: int, leader: int | None, is_reported: bool) -> None:
        self.promises.leaders_moved = True
        self.cluster.move_leader(TopicPartition(topic, partition % PARTITIONS[topic]), leader)
        if is_reported:
            self.producer.core.metadata.request_update()
            self.producer.core.wakeup()

    @with_feature("restarts")
    @rule(broker=st.integers(1, BROKERS))
    def restart_a_broker(self, broker: int) -> None:
        self.cluster.brokers[broker].crash()
        self.cluster.brokers[broker].start()
        self.down.discard(broker)

    @with_feature("outages")
    @rule(broker=st.integers(1, BROKERS))
    def crash_a_broker_or_start_it(self, broker: int) -> None:
        if broker in self.down:
            self.cluster.brokers[broker].start()
        else:
            self.cluster.brokers[broker].crash()
        self.down ^= {broker}

    @with_feature("cuts")
    @rule(broker=st.integers(1, BROKERS))
    def cut_a_broker_off_or_end_it(self, broker: int) -> None:
        if broker in self.cut:
            self.world.network.rejoin(f"broker-{broker}")
        else:
            self.world.network.isolate(f"broker-{broker}")
            self.promises.network_was_cut = True
        self.cut ^= {broker}

    @with_feature("partitions")
    @rule(topic=st.sampled_from(["t", "u"]), leader=st.integers(1, BROKERS))
    def add_a_partition(self, topic: str, leader: int) -> None:
        if len(self.cluster.topics[topic].leaders) == PARTITIONS[topic]:
            self.cluster.add_partition(topic, leader)

    @with_feature("metadata")
    @rule(
        topic=st.sampled_from(["t", "u"]),
        code=st.sampled_from([None, E.UNKNOWN_TOPIC_OR_PARTITION, E.TOPIC_AUTHORIZATION_FAILED]),
    )
    def refuse_metadata(self, topic: str, code: ErrorCode | None) -> None:
        self.cluster.metadata_errors.pop(topic, None)
        if code is not None:
            self.cluster.metadata_errors[topic] = code

    @with_feature("forgetting")
    @rule(returns_unknown_producer=st.booleans())
    def forget_the_producer(self, returns_unknown_producer: bool) -> None:
        self.cluster.forget_producers(returns_unknown_producer=returns_unknown_producer)

    @with_feature("refused ids")
    @rule(code=st.sampled_from([E.COORDINATOR_LOAD_IN_PROGRESS, E.CLUSTER_AUTHORIZATION_FAILED]))
    def refuse_an_id(self, code: ErrorCode) -> None:
        self.cluster.init_errors.append(code)

    @with_feature("flush")
    @rule()
    def flush(self) -> None:
        self.promises.flush()

    @with_feature("close")
    @precondition(lambda self: not self.producer.core.closed and len(self.producer.sent) >= SENT_BEFORE_THE_END)
    @rule(timeout_ms=st.sampled_from([None, 0, 1, 300, 5_000]))
    def close(self, timeout_ms: int | None) -> None:
        self.promises.close(timeout_ms)

    @invariant()
    def promises_are_kept(self) -> None:
        if hasattr(self, "promises"):
            self.promises.check()

    def teardown(self) -> None:
        if not hasattr(self, "promises"):
            return
        self.heal()
        self.promises.await_everything()
        if not self.producer.core.closed:
            self.fatal_errors_leave_nothing_open()
            self.producer_is_of_use()
            self.promises.close(0)
            self.promises.await_everything()
        self.promises.check_logs()

    def heal(self) -> None:
        cluster = self.cluster
        cluster.script.clear()
        cluster.init_errors.clear()
        cluster.metadata_errors.clear()
        for broker in sorted(self.down):
            cluster.brokers[broker].start()
        self.down.clear()
        for number, broker in cluster.brokers.items():
            self.world.network.rejoin(f"broker-{number}")
            for connection in list(broker.connections):
                if connection.hangs:
                    connection.transport.abortConnection()
        for name, topic in cluster.topics.items():
            for partition, leader in enumerate(topic.leaders):
                if leader is None:
                    cluster.move_leader(TopicPartition(name, partition), 1)

    def fatal_errors_leave_nothing_open(self) -> None:
        if self.has_fatal_error:
            self.producer.send(self.producer.new("reactor", "t", 0, None, b""))
            self.world.run_for(ms=1)
            assert not self.producer.core.accumulator.has_incomplete

    @property
    def has_fatal_error(self) -> bool:
        transactions = self.producer.core.transactions
        return transactions is not None and transactions.has_fatal_error

    def producer_is_of_use(self) -> None:
        """Within a few attempts, until what was sent before is given up, every partition takes a record."""
        if self.has_fatal_error:
            return
        self.world.run_for(ms=1_500)
        missing = [TopicPartition(topic, index) for topic, count in PARTITIONS.items() for index in range(count)]
        for _ in range(PROBES):
            missing = [key for key in missing if not self.is_of_use(key)]
        assert not missing, f"nothing can be sent to {missing} any more"

    def is_of_use(self, key: TopicPartition) -> bool:
        one = self.producer.new("reactor", key.topic, key.partition, None, b"")
        self.producer.send(one)
        self.promises.await_everything()
        self.world.run_for(ms=1_000)
        return one.error is None and one.value in self.cluster.values(*key)


TestProducer = ProducerMachine.TestCase
TestProducer.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)

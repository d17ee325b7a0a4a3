from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker_sim.replication.purgatory import ExpirationQueue
from sim_runtime.virtual_reactor import VirtualReactor


class Operation:
    def __init__(self, reactor: VirtualReactor) -> None:
        self.completed = False
        self.expired_at_us: int | None = None
        self._reactor = reactor

    def expire(self) -> None:
        self.completed = True
        self.expired_at_us = self._reactor.now_us


def test_an_operation_expires_exactly_at_its_deadline() -> None:
    reactor = VirtualReactor()
    queue = ExpirationQueue(reactor)
    start_us = reactor.now_us
    reactor.run_for(ms=0.3)
    operation = Operation(reactor)
    queue.add(operation, 7)
    reactor.run_for(ms=6.999)
    assert not operation.completed
    reactor.run_for(ms=0.001)
    assert operation.expired_at_us == start_us + 7_300


def test_what_is_completed_never_expires() -> None:
    reactor = VirtualReactor()
    queue = ExpirationQueue(reactor)
    operations = [Operation(reactor) for _ in range(3)]
    for operation in operations:
        queue.add(operation, 10)
        reactor.run_for(ms=1)
    operations[1].completed = True
    reactor.run_for(ms=100)
    assert [operation.expired_at_us is None for operation in operations] == [False, True, False]


def test_many_operations_of_one_delay_share_one_timer() -> None:
    reactor = VirtualReactor()
    queue = ExpirationQueue(reactor)
    for _ in range(100):
        queue.add(Operation(reactor), 30_000)
    assert len(reactor.getDelayedCalls()) == 1


class Following(Operation):
    """Adds another operation of the same delay when it expires."""

    def __init__(self, reactor: VirtualReactor, queue: ExpirationQueue, delay_ms: int) -> None:
        super().__init__(reactor)
        self.following = Operation(reactor)
        self._add = lambda: queue.add(self.following, delay_ms)

    def expire(self) -> None:
        super().expire()
        self._add()


def test_an_operation_that_is_added_by_one_that_expires_delays_no_other() -> None:
    reactor = VirtualReactor()
    queue = ExpirationQueue(reactor)
    first, second = Following(reactor, queue, 10), Operation(reactor)
    start_us = reactor.now_us
    queue.add(first, 10)
    reactor.run_for(ms=1)
    queue.add(second, 10)
    reactor.run_for(ms=100)
    expired_us = [each.expired_at_us for each in (first, second, first.following)]
    assert expired_us == [start_us + 10_000, start_us + 11_000, start_us + 20_000]


def test_a_stopped_queue_expires_nothing_and_leaves_no_timer() -> None:
    reactor = VirtualReactor()
    queue = ExpirationQueue(reactor)
    operation = Operation(reactor)
    queue.add(operation, 10)
    queue.stop()
    assert not reactor.getDelayedCalls()
    reactor.run_for(ms=20)
    assert not operation.completed


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 40), st.booleans()), max_size=30))
def test_every_operation_that_is_not_completed_expires_on_time(plan: list[tuple[int, int, bool]]) -> None:
    reactor = VirtualReactor()
    queue = ExpirationQueue(reactor)
    expected: list[tuple[Operation, int | None]] = []
    for wait_ms, delay_ms, completes in plan:
        reactor.run_for(ms=wait_ms)
        operation = Operation(reactor)
        queue.add(operation, delay_ms)
        if completes:
            operation.completed = True
        expected.append((operation, None if completes else reactor.now_us + delay_ms * 1_000))
    reactor.run_for(ms=1_000)
    assert [operation.expired_at_us for operation, _ in expected] == [due for _, due in expected]
    assert not reactor.getDelayedCalls()

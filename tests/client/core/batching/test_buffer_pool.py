"""Memory of a producer: bounded, FIFO, and all of it back at the end."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from broker_client.core.batching.buffer_pool import BufferPool, MemoryWaiter, WaiterState
from broker_client.errors import IllegalState, RecordTooLarge

MEMORY, POOLABLE = 1_000, 100


def test_a_buffer_of_batch_size_stays_pooled_until_another_size_needs_room() -> None:
    pool = BufferPool(MEMORY, POOLABLE)
    assert pool.try_allocate(POOLABLE)
    pool.deallocate(POOLABLE)
    assert pool.pooled_bytes == POOLABLE
    assert pool.try_allocate(950)
    assert (pool.pooled_bytes, pool.available_bytes) == (0, 50)


def test_more_than_the_whole_memory_is_refused_at_once() -> None:
    pool = BufferPool(MEMORY, POOLABLE)
    with pytest.raises(RecordTooLarge, match=r"1001 bytes when serialized, buffer\.memory allows 1000"):
        pool.try_allocate(1_001)


def test_waiters_are_served_in_order_and_collect_what_is_freed() -> None:
    pool = BufferPool(MEMORY, POOLABLE)
    assert pool.try_allocate(500)
    assert pool.try_allocate(500)
    served: list[str] = []
    first = pool.wait(600, lambda: served.append("first"))
    second = pool.wait(100, lambda: served.append("second"))
    pool.deallocate(500)
    assert (served, pool.queued, pool.available_bytes) == ([], 2, 0)
    pool.deallocate(500)
    assert served == ["first", "second"]
    assert (first.state, second.state) == (WaiterState.GRANTED, WaiterState.GRANTED)
    assert pool.available_bytes == 300


def test_no_caller_overtakes_a_waiter() -> None:
    pool = BufferPool(MEMORY, POOLABLE)
    assert pool.try_allocate(900)
    pool.wait(200, list)
    assert not pool.try_allocate(50)


def test_who_gives_up_leaves_what_it_had_to_the_next() -> None:
    pool = BufferPool(MEMORY, POOLABLE)
    assert pool.try_allocate(950)
    served: list[str] = []
    first = pool.wait(200, lambda: served.append("first"))
    pool.wait(50, lambda: served.append("second"))
    assert first.abandon()
    assert served == ["second"]
    assert not first.abandon()


def test_close_turns_waiters_away_and_takes_memory_back() -> None:
    pool = BufferPool(MEMORY, POOLABLE)
    assert pool.try_allocate(MEMORY)
    woken: list[int] = []
    waiter = pool.wait(10, lambda: woken.append(1))
    pool.close()
    assert (woken, waiter.state) == ([1], WaiterState.CLOSED)
    assert pool.wait(10, lambda: woken.append(2)).state is WaiterState.CLOSED
    pool.deallocate(MEMORY)
    assert pool.available_bytes == MEMORY


def test_memory_that_comes_back_twice_is_noticed() -> None:
    pool = BufferPool(MEMORY, POOLABLE)
    with pytest.raises(IllegalState, match="came back twice"):
        pool.deallocate(POOLABLE)


class PoolMachine(RuleBasedStateMachine):
    """Allocations, waits and returns in any order, beside a model that only counts."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = BufferPool(MEMORY, POOLABLE)
        self.held: list[int] = []
        self.waiting: list[MemoryWaiter] = []
        self.granted_in_order: list[MemoryWaiter] = []

    sizes = st.one_of(st.just(POOLABLE), st.integers(1, MEMORY))

    @rule(size=sizes)
    def allocate(self, size: int) -> None:
        if self.pool.try_allocate(size):
            assert not self.waiting, "no caller overtakes a waiter"
            self.held.append(size)

    @rule(size=sizes)
    def wait(self, size: int) -> None:
        waiters: list[MemoryWaiter] = []

        def granted() -> None:
            if waiters:
                self.granted_in_order.append(waiters[0])

        waiter = self.pool.wait(size, granted)
        waiters.append(waiter)
        if waiter.state is WaiterState.GRANTED:
            self.held.append(size)
        else:
            self.waiting.append(waiter)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def deallocate(self, data: st.DataObject) -> None:
        size = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        self.pool.deallocate(size)
        self.collect_granted()

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        waiter = self.waiting.pop(data.draw(st.integers(0, len(self.waiting) - 1)))
        assert waiter.abandon()
        self.collect_granted()

    def collect_granted(self) -> None:
        granted, self.granted_in_order = self.granted_in_order, []
        assert granted == self.waiting[: len(granted)], "FIFO"
        del self.waiting[: len(granted)]
        self.held.extend(waiter.size_bytes for waiter in granted)

    @invariant()
    def nothing_is_lost(self) -> None:
        collected = sum(waiter.collected_bytes for waiter in self.waiting)
        assert self.pool.available_bytes + collected + sum(self.held) == MEMORY
        assert self.pool.queued == len(self.waiting)
        if self.waiting:
            assert self.pool.available_bytes == 0

    def teardown(self) -> None:
        for waiter in self.waiting:
            waiter.abandon()
        self.collect_granted_on_the_way_out()
        for size in self.held:
            self.pool.deallocate(size)
        assert self.pool.available_bytes == MEMORY

    def collect_granted_on_the_way_out(self) -> None:
        self.held.extend(waiter.size_bytes for waiter in self.granted_in_order)


TestPool = PoolMachine.TestCase
TestPool.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

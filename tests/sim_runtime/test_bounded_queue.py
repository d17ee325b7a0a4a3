from __future__ import annotations

import pickle

import pytest
from twisted.internet.defer import CancelledError

from sim_runtime.bounded_queue import BoundedQueue, QueueFull


@pytest.fixture
def queue() -> BoundedQueue[int]:
    return BoundedQueue("request queue", 2, "queued.max.requests")


def results(*deferreds):
    got: list[int] = []
    for deferred in deferreds:
        deferred.addCallback(got.append)
    return got


def test_items_leave_in_the_order_they_came(queue):
    queue.put(1)
    queue.put(2)
    assert results(queue.get(), queue.get()) == [1, 2]


def test_a_full_queue_names_itself_its_limit_and_its_option(queue):
    queue.put(1)
    queue.put(2)
    assert queue.full
    assert queue.try_put(3) is False
    with pytest.raises(QueueFull) as caught:
        queue.put(3)
    assert str(caught.value) == "request queue is full: it holds 2; queued.max.requests allows more"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert len(queue) == 2


def test_an_item_goes_straight_to_who_waits_longest(queue):
    got = results(queue.get(), queue.get())
    queue.put(1)
    assert got == [1]
    queue.put(2)
    assert got == [1, 2]
    assert (len(queue), queue.peak) == (0, 0)


def test_who_was_cancelled_gets_nothing(queue):
    gone = queue.get()
    gone.addErrback(lambda failure: failure.trap(CancelledError) and None)
    got = results(queue.get())
    gone.cancel()
    queue.put(1)
    assert got == [1]


def test_the_peak_is_the_most_that_ever_waited(queue):
    queue.put(1)
    queue.put(2)
    assert queue.drain() == [1, 2]
    queue.put(3)
    assert queue.peak == 2
    assert queue.take() == 3
    with pytest.raises(IndexError):
        queue.take()


def test_a_queue_without_room_is_refused():
    with pytest.raises(ValueError, match="limit of acks must be at least 1"):
        BoundedQueue("acks", 0)

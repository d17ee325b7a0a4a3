from hypothesis import given
from hypothesis import strategies as st

from broker_sim.coordinators.groups.streams.java_priority_queue import JavaPriorityQueue


def drained(queue):
    found = []
    while (element := queue.poll()) is not None:
        found.append(element)
    return found


def test_equal_elements_come_in_the_order_of_java():
    queue = JavaPriorityQueue(lambda each: each[0], [(0, "a"), (0, "b"), (0, "c"), (0, "d")])
    assert [name for _, name in drained(queue)] == ["a", "d", "c", "b"]


@given(st.lists(st.integers(0, 9)))
def test_elements_come_in_ascending_order(numbers):
    queue = JavaPriorityQueue(lambda each: each, numbers)
    assert len(queue) == len(numbers)
    assert drained(queue) == sorted(numbers)

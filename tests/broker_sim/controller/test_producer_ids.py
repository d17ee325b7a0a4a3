from __future__ import annotations

from typing import Any

import pytest

from broker_sim.controller.producer_ids import BLOCK_SIZE
from broker_sim.links.node_links import CONTROLLER_ID
from protocol_specs.error_codes import ErrorCode

Make = Any


def test_the_controller_hands_no_block_out_twice(replicas: Make) -> None:
    controller = replicas().cluster.controller
    assert [controller.allocate_producer_ids(1) for _ in range(3)] == [
        (0, BLOCK_SIZE),
        (1000, BLOCK_SIZE),
        (2000, 1000),
    ]
    assert controller.image.producer_ids.next_producer_id == 3 * BLOCK_SIZE


def test_the_first_request_of_a_brokers_life_waits_for_its_block(replicas: Make) -> None:
    ids = replicas().cluster.broker(1).producer_ids
    assert ids.generate() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert [ids.generate() for _ in range(3)] == [0, 1, 2]


def test_the_next_block_is_fetched_before_the_last_one_is_used_up(replicas: Make) -> None:
    cluster = replicas()
    ids = cluster.cluster.broker(1).producer_ids
    ids.generate()
    assert [ids.generate() for _ in range(2 * BLOCK_SIZE)] == list(range(2 * BLOCK_SIZE))
    other = cluster.cluster.broker(2).producer_ids
    other.generate()
    assert other.generate() == 3 * BLOCK_SIZE


@pytest.mark.parametrize("kill", [False, True])
def test_a_broker_cut_off_from_the_controller_retries_until_it_gets_a_response(replicas: Make, kill: bool) -> None:
    cluster = replicas()
    link = cluster.cluster.links.link(1, CONTROLLER_ID)
    link.cut()
    ids = cluster.cluster.broker(1).producer_ids
    assert ids.generate() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if kill:
        cluster.cluster.kill(1)
    link.restore()
    cluster.run(ms=100)
    response = ids.generate()
    assert response is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if kill else response == 0


def test_who_waits_for_a_block_has_an_id_each_in_order(replicas: Make) -> None:
    cluster = replicas()
    link = cluster.cluster.links.link(1, CONTROLLER_ID)
    link.hold()
    ids = cluster.cluster.broker(1).producer_ids
    waiting = [ids.generate_within(1000) for _ in range(3)]
    cluster.run(ms=500)
    assert [each.called for each in waiting] == [False] * 3
    link.release()
    cluster.run(ms=1)
    assert [each.result for each in waiting] == [0, 1, 2]


def test_a_request_that_gets_no_block_in_time_fails(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.links.link(1, CONTROLLER_ID).cut()
    waiting = cluster.cluster.broker(1).producer_ids.generate_within(1000)
    cluster.run(ms=999)
    assert not waiting.called
    cluster.run(ms=1)
    assert waiting.result is ErrorCode.REQUEST_TIMED_OUT


def test_a_request_that_waits_at_a_killed_broker_gets_no_response(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.links.link(1, CONTROLLER_ID).cut()
    waiting = cluster.cluster.broker(1).producer_ids.generate_within(1000)
    cluster.cluster.kill(1)
    cluster.run(ms=2000)
    assert not waiting.called

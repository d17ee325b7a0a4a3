"""When a node may be tried again, and how long an attempt may take."""

from __future__ import annotations

import random

import pytest

from broker_client.core.network.cluster_connection_states import NEVER_MS, ClusterConnectionStates
from broker_client.core.network.connection_state import ConnectionState
from sim_runtime.state_table import IllegalTransition


@pytest.fixture
def states() -> ClusterConnectionStates:
    return ClusterConnectionStates(
        reconnect_backoff_ms=50,
        reconnect_backoff_max_ms=1_000,
        setup_timeout_ms=10_000,
        setup_timeout_max_ms=30_000,
        random=random.Random(3),
    )


def test_a_node_that_was_never_tried_may_be_connected(states: ClusterConnectionStates) -> None:
    assert states.can_connect(1, 0)
    assert states.connection_delay_ms(1, 0) == 0


def test_the_back_off_doubles_with_each_failure_and_stays_below_its_maximum(states: ClusterConnectionStates) -> None:
    now_ms, pauses = 1_000, []
    for _ in range(8):
        states.connecting(1, "h", now_ms)
        states.disconnected(1, now_ms)
        pauses.append(states.connection_delay_ms(1, now_ms))
        assert not states.can_connect(1, now_ms + pauses[-1] - 1)
        now_ms += pauses[-1]
        assert states.can_connect(1, now_ms)
    for pause, nominal in zip(pauses, [50, 100, 200, 400, 800, 1_000, 1_000, 1_000], strict=True):
        assert nominal * 0.8 - 1 <= pause <= min(nominal * 1.2, 1_000)


def test_a_ready_connection_forgets_its_failures(states: ClusterConnectionStates) -> None:
    for now_ms in range(5):
        states.connecting(1, "h", now_ms)
        states.disconnected(1, now_ms, "refused")
    assert states.last_error(1) == "refused"
    states.connecting(1, "h", 9)
    states.checking_api_versions(1)
    states.ready(1)
    assert states.last_error(1) is None
    assert states.connection_delay_ms(1, 10) == NEVER_MS
    states.disconnected(1, 10)
    assert states.connection_delay_ms(1, 10) <= 60


def test_an_attempt_that_takes_too_long_is_named_and_the_next_may_take_longer(states: ClusterConnectionStates) -> None:
    states.connecting(1, "h", 0)
    first_ms = states.setup_timeout_ms(1)
    assert 8_000 <= first_ms <= 12_000
    assert states.next_setup_timeout_ms(0) == first_ms + 1
    assert states.nodes_with_setup_timeout(first_ms) == []
    assert states.nodes_with_setup_timeout(first_ms + 1) == [1]
    states.disconnected(1, first_ms + 1)
    states.connecting(1, "h", 20_000)
    assert 16_000 <= states.setup_timeout_ms(1) <= 24_000


def test_a_throttled_node_is_not_ready_until_its_time_is_over(states: ClusterConnectionStates) -> None:
    states.connecting(1, "h", 0)
    states.checking_api_versions(1)
    states.ready(1)
    states.throttle(1, 500)
    states.throttle(1, 200)
    assert not states.is_ready(1, 499)
    assert states.poll_delay_ms(1, 100) == 400
    assert states.is_ready(1, 500)


def test_a_second_connect_is_our_mistake(states: ClusterConnectionStates) -> None:
    states.connecting(1, "h", 0)
    with pytest.raises(IllegalTransition):
        states.connecting(1, "h", 1)
    assert states.state(1) is ConnectionState.CONNECTING

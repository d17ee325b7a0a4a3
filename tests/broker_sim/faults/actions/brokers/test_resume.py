from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_broker_that_does_not_run_is_no_effect(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas(on_network=True)
    made.cluster.kill(2)
    assert "broker 2 is not running" in fire(made, {"resume": 2}).problem


def test_a_pause_of_a_moment_changes_nothing(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas(on_network=True)
    fire(made, {"pause": 1}, ms=50)
    responses = made.send(1)
    made.run(ms=20)
    fire(made, {"resume": 1})
    assert [response.error_code for response in responses] == [0]

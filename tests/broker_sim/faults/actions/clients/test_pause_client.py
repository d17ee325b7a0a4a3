from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.faults.rule import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_run_does_it(replicas: Callable[..., Any], fire: Callable[..., Any], clients: Callable[..., Any]) -> None:
    made = replicas()
    target = clients(made)
    assert fire(made, {"pause_client": "app"}, until={"delay_ms": 50}).problem is None
    assert target.calls == [("pause_client", "app"), ("resume_client", "app")]
    assert fire(made, {"pause_client": "ap"}).problem == "client: there is no client 'ap': they are app"


def test_a_run_without_clients_refuses_it(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    with pytest.raises(RuleError, match="act: pause_client needs clients that the run starts and ends"):
        fire(replicas(), {"pause_client": "app"})

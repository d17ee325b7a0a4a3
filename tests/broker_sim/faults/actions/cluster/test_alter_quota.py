from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_quota_holds_until_the_rule_closes(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas()

    def image() -> Any:
        return made.cluster.controller.image

    act = {"alter_quota": {"client_id": "app", "quotas": {"producer_byte_rate": 1024}}}
    assert fire(made, act, until={"delay_ms": 1_000}).problem is None
    assert [quotas for _, quotas in image().client_quotas.items()] == [{"producer_byte_rate": 1024.0}]
    made.run(ms=2_000)
    assert not image().client_quotas


def test_an_unknown_quota_is_the_problem_of_the_rule(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    act = {"alter_quota": {"user": "<default>", "quotas": {"bytes": 1}}}
    assert "AlterClientQuotas: INVALID_REQUEST" in fire(replicas(), act).problem

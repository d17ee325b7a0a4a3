from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

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


@pytest.mark.parametrize(
    ("release", "quotas"), [("1.1.1", {"producer_byte_rate": 1024}), ("2.5.1", {"request_percentage": 5})]
)
def test_a_release_without_the_request_has_its_quotas_in_zookeeper(
    replicas: Callable[..., Any], fire: Callable[..., Any], release: str, quotas: dict[str, int]
) -> None:
    made = replicas(release=release)
    act = {"alter_quota": {"client_id": "app", "quotas": quotas}}
    assert fire(made, act, until={"delay_ms": 1_000}).problem is None
    images = [broker.metadata_cache.image for broker in made.cluster.brokers.values()]
    assert [[found for _, found in image.client_quotas.items()] for image in images] == [[quotas]] * 3
    made.run(ms=2_000)
    assert not any(broker.metadata_cache.image.client_quotas for broker in made.cluster.brokers.values())

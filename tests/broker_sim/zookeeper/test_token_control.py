"""Delegation tokens in ZooKeeper mode: any broker serves them, and each broker learns of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.rpc.plain_call import PlainCalls
from protocol_specs.messages.create_delegation_token import CreateDelegationTokenRequest
from protocol_specs.messages.expire_delegation_token import ExpireDelegationTokenRequest
from protocol_specs.messages.renew_delegation_token import RenewDelegationTokenRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.zookeeper.conftest import ZooKeeperCluster

CONFIG = {
    "delegation.token.master.key": "secret",
    "delegation.token.expiry.time.ms": "1000",
    "delegation.token.expiry.check.interval.ms": "5000",
}


def call(cluster: ZooKeeperCluster, broker_id: int, request: Any, version: int, principal: str = "User:ann") -> Any:
    calls = PlainCalls(cluster.broker(broker_id))
    context = calls.context(request, version)
    context.connection.principal, context.connection.security_protocol = principal, "SASL_PLAINTEXT"
    responses: list[Any] = []
    calls.serve(context).addCallback(responses.append)
    cluster.run(ms=100)
    return responses[0]


@pytest.mark.parametrize("release", ["1.1", "2.8", "3.7.2"])
def test_any_broker_changes_tokens_that_every_broker_knows(
    zookeeper_cluster: Callable[..., ZooKeeperCluster], release: str
) -> None:
    cluster = zookeeper_cluster(release, config=CONFIG)
    create = CreateDelegationTokenRequest(
        owner_principal_type=None, owner_principal_name=None, renewers=[], max_lifetime_ms=-1
    )
    created = call(cluster, 2, create, 1)
    assert (created.error_code, created.principal_name) == (0, "ann")
    known = [broker.metadata_cache.image.tokens for broker in cluster.cluster.brokers.values()]
    assert [list(tokens) for tokens in known] == [[created.token_id]] * 3
    renewed = call(cluster, 3, RenewDelegationTokenRequest(hmac=created.hmac, renew_period_ms=3000), 1)
    assert (renewed.error_code, renewed.expiry_timestamp_ms - created.issue_timestamp_ms >= 3000) == (0, True)
    at_once = call(cluster, 1, RenewDelegationTokenRequest(hmac=created.hmac, renew_period_ms=0), 1)
    cluster.run(ms=100)
    assert at_once.error_code == 0
    renew = RenewDelegationTokenRequest(hmac=created.hmac, renew_period_ms=-1)
    codes = [call(cluster, 1, renew, 1, who) for who in ("User:bob", "User:ann")]
    assert [(each.error_code, each.expiry_timestamp_ms) for each in codes] == [(63, -1), (66, -1)]
    cluster.run(ms=6_000)
    assert [broker.metadata_cache.image.tokens for broker in cluster.cluster.brokers.values()] == [{}, {}, {}]
    gone = call(cluster, 1, ExpireDelegationTokenRequest(hmac=created.hmac, expiry_time_period_ms=-1), 1)
    assert (gone.error_code, gone.expiry_timestamp_ms) == (62, -1)


def test_tokens_need_a_secret(zookeeper_cluster: Callable[..., ZooKeeperCluster]) -> None:
    response = call(zookeeper_cluster("2.8"), 1, RenewDelegationTokenRequest(hmac=b"x", renew_period_ms=1), 1)
    assert (response.error_code, response.expiry_timestamp_ms) == (61, -1)

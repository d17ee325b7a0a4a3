from __future__ import annotations

from random import Random

from broker_sim.apis import client_metrics
from broker_sim.apis.client_metrics import PUSH_INTERVAL_MS, ClientInstance, ClientMetricsManager
from broker_sim.config.broker_config import BrokerConfig
from protocol_specs.error_codes import ErrorCode
from protocol_specs.uuids import ZERO_UUID


def manager() -> ClientMetricsManager:
    return ClientMetricsManager(config=BrokerConfig.parse({}, release="4.3.1"), random=Random(1))


def subscribed(clients: ClientMetricsManager, now_ms: int = 0) -> tuple[bytes, ClientInstance]:
    found = clients.subscribe(ZERO_UUID, now_ms)
    assert not isinstance(found, ErrorCode)
    return found


def push(clients: ClientMetricsManager, instance_id: bytes, subscription_id: int, now_ms: int) -> ErrorCode:
    return clients.push(instance_id, subscription_id, 0, b"", terminating=False, now_ms=now_ms)


def test_a_client_is_heard_once_in_an_interval() -> None:
    clients = manager()
    instance_id, instance = subscribed(clients, 5)
    assert push(clients, instance_id, instance.subscription_id, 6) == ErrorCode.NONE
    just_before = 6 + PUSH_INTERVAL_MS - 1
    assert push(clients, instance_id, instance.subscription_id, just_before) == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert push(clients, instance_id, instance.subscription_id, just_before + 1) == ErrorCode.NONE


def test_a_silent_client_is_forgotten() -> None:
    clients = manager()
    instance_id, instance = subscribed(clients)
    instance.terminating = True
    later = 3 * PUSH_INTERVAL_MS
    assert push(clients, instance_id, instance.subscription_id, later - 1) == ErrorCode.INVALID_REQUEST
    assert push(clients, instance_id, instance.subscription_id, 2 * later) == ErrorCode.NONE


def test_the_least_recently_heard_client_makes_room() -> None:
    clients = manager()
    first_id, first = subscribed(clients)
    for _ in range(client_metrics.CACHE_MAX_SIZE):
        subscribed(clients)
    first.terminating = True
    assert push(clients, first_id, first.subscription_id, 1) == ErrorCode.NONE

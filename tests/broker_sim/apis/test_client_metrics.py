from __future__ import annotations

from random import Random

from broker_sim.apis import client_metrics
from broker_sim.apis.client_metrics import ClientInstance, ClientMetricsManager
from broker_sim.apis.client_metrics_subscriptions import PUSH_INTERVAL_MS
from broker_sim.apis.request_context import ConnectionInfo
from broker_sim.config.broker_config import BrokerConfig
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.push_telemetry import PushTelemetryRequest
from protocol_specs.uuids import ZERO_UUID

CLIENT = {"client_id": "orders", "client_software_name": "a", "client_source_port": None}


def manager() -> ClientMetricsManager:
    return ClientMetricsManager(config=BrokerConfig.parse({}, release="4.3.1"), random=Random(1))


def subscribed(clients: ClientMetricsManager, now_ms: int = 0) -> tuple[bytes, ClientInstance]:
    found = clients.subscribe(ZERO_UUID, CLIENT, now_ms)
    assert not isinstance(found, ErrorCode)
    return found


def push(clients: ClientMetricsManager, instance_id: bytes, subscription_id: int, now_ms: int) -> ErrorCode:
    request = PushTelemetryRequest(client_instance_id=instance_id, subscription_id=subscription_id)
    return clients.push(request, CLIENT, now_ms)


def test_a_client_may_push_once_per_interval() -> None:
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


def test_the_least_recently_active_client_makes_room() -> None:
    clients = manager()
    first_id, first = subscribed(clients)
    for _ in range(client_metrics.CACHE_MAX_SIZE):
        subscribed(clients)
    first.terminating = True
    assert push(clients, first_id, first.subscription_id, 1) == ErrorCode.NONE


def test_a_client_gets_the_metrics_of_all_its_subscriptions() -> None:
    clients = manager()
    clients.update(
        {
            "one": {"metrics": "a,b", "interval.ms": "2000"},
            "two": {"metrics": " c ", "interval.ms": "1000", "match": "client_id=ord.*, client_software_name=a"},
            "three": {"metrics": "*", "match": "client_id=ord"},
            "four": {"metrics": "*", "match": "client_source_port=.*"},
        }
    )
    _, instance = subscribed(clients)
    assert (sorted(instance.metrics), instance.interval_ms) == (["a", "b", "c"], 1000)


def test_a_star_stands_for_everything() -> None:
    clients = manager()
    clients.update({"one": {"metrics": "a"}, "two": {"metrics": "b,*"}})
    assert subscribed(clients)[1].metrics == ["*"]


def test_a_changed_subscription_may_be_requested_at_once() -> None:
    clients = manager()
    instance_id, before = subscribed(clients)
    assert clients.subscribe(instance_id, CLIENT, 1) == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    clients.update({"one": {"metrics": "a"}})
    found = clients.subscribe(instance_id, {}, 2)
    assert not isinstance(found, ErrorCode)
    assert (found[1].metrics, found[1].attributes["client_id"]) == (["a"], "orders")
    assert found[1].subscription_id != before.subscription_id


def test_an_instance_is_forgotten_with_the_connection_that_it_was_made_on() -> None:
    clients = manager()
    first, second = (ConnectionInfo(connection_id=name, client_host="h") for name in ("first", "second"))
    instance_id = b"a client's name."
    assert not isinstance(clients.subscribe(instance_id, CLIENT, 0, first), ErrorCode)
    assert clients.subscribe(instance_id, CLIENT, 1, second) == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    first.closed = True
    assert not isinstance(clients.subscribe(instance_id, CLIENT, 2, second), ErrorCode)

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

from broker_client import Consumer, Producer
from broker_sim.http_control.operations import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.broker_sim.http_control.conftest import Control

SECONDS_MAX = 30
ONE_BROKER = {"brokers": 1, "topics": ["orders:2:1"]}
THREE_BROKERS = {"brokers": 3, "topics": ["orders:1:3"]}


def send(servers: str, count: int = 1, **configs: Any) -> list[int]:
    """Send records to orders-0 and return their offsets."""
    with Producer(bootstrap_servers=servers, **configs) as producer:
        sent = [producer.send("orders", f"v{number}".encode(), partition=0) for number in range(count)]
        producer.flush(SECONDS_MAX)
        return [each.result(SECONDS_MAX).offset for each in sent]


def servers_of(control: Control, path: str) -> str:
    servers: str = control.get(path)["bootstrap_servers"]
    return servers


def test_a_rule_of_http_fires_on_a_client(control: Control) -> None:
    path = control.new_cluster(**ONE_BROKER)
    rule = {"select": {"api": "Produce", "nth": 1}, "phase": "before_response", "act": "disconnect"}
    assert control.post(f"{path}/rules", rule) == {"name": "rule-1"}
    assert control.get(f"{path}/rules/rule-1")["problem"] == "never fired"
    send(servers_of(control, path), enable_idempotence=False)
    assert control.get(f"{path}/wait/rule?rule=rule-1&fired=1") == {"fired": 1}
    records = control.get(f"{path}/topics/orders/records?partition=0")
    assert [(each["offset"], each["value"]) for each in records] == [(0, "v0"), (1, "v0")]
    assert control.post(f"{path}/verify", {"api": "Produce", "count": "2"}) == {
        "holds": True,
        "count": 2,
        "expected": "2",
    }
    assert control.post(f"{path}/verify", {"api": "Produce", "count": ">= 3"})["holds"] is False
    removed = control.call("DELETE", f"{path}/rules").json
    assert [(each["name"], each["fired"], each["problem"]) for each in removed] == [("rule-1", 1, None)]
    assert control.get(f"{path}/rules") == []


def test_brokers_are_killed_and_restarted(control: Control) -> None:
    path = control.new_cluster(**THREE_BROKERS)
    control.post(f"{path}/brokers/1/kill")
    assert control.get(f"{path}/brokers/1")["running"] is False
    assert control.get(path)["brokers_down"] == [1]
    leader = control.get(f"{path}/wait/leader?topic=orders&other_than=1")["leader"]
    assert leader in {2, 3}
    control.post(f"{path}/brokers/1/restart")
    assert sorted(control.get(f"{path}/wait/isr?topic=orders")["isr"]) == [1, 2, 3]
    control.post(f"{path}/topics/orders/partitions/0/elect", {"broker": 1})
    assert control.get(f"{path}/topics/orders/partitions/0")["leader"] == 1
    control.post(f"{path}/brokers/2/stop")
    control.post(f"{path}/brokers/2/restart")
    control.call("GET", f"{path}/wait/quiet")
    assert "BrokerKilled broker=1" in control.call("GET", f"{path}/report").text


def test_a_reset_leaves_nothing_and_keeps_the_addresses(control: Control) -> None:
    path = control.new_cluster(**THREE_BROKERS)
    servers = servers_of(control, path)
    send(servers, 3)
    control.post(f"{path}/topics", {"name": "more"})
    control.post(f"{path}/rules", {"act": "disconnect", "select": {"api": "Produce"}})
    control.post(f"{path}/brokers/2/kill")
    described = control.post(f"{path}/reset")
    assert (described["bootstrap_servers"], described["brokers_down"]) == (servers, [])
    assert control.get(f"{path}/rules") == []
    assert [each["name"] for each in control.get(f"{path}/topics") if not each["name"].startswith("__")] == ["orders"]
    assert control.get(f"{path}/topics/orders/records") == []
    assert send(servers) == [0]


def test_groups_and_transactions_are_shown(control: Control) -> None:
    path = control.new_cluster(**ONE_BROKER)
    servers = servers_of(control, path)
    with Producer(bootstrap_servers=servers, transactional_id="payments") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("orders", b"v", partition=0).result(SECONDS_MAX)
        assert control.get(f"{path}/transactions/payments")["partitions"] == ["orders-0"]
        producer.commit_transaction()
        found = control.get(f"{path}/wait/transaction?transactional_id=payments&state=CompleteCommit")
        assert found["producer_epoch"] >= 0
    with Consumer(bootstrap_servers=servers, group_id="readers", auto_offset_reset="earliest") as consumer:
        consumer.subscribe(["orders"])
        assert consumer.poll(SECONDS_MAX)
        group = control.get(f"{path}/wait/group?group=readers&members=1")
        assert group["members"][0]["assignment"] == ["orders-0", "orders-1"]
        consumer.commit()
        offsets = {each["partition"]: each for each in control.get(f"{path}/groups/readers")["offsets"]}
        assert (offsets[0]["offset"], offsets[0]["lag"]) == (2, 0)  # the marker has an offset too
    assert [each["group_id"] for each in control.get(f"{path}/groups")] == ["readers"]


def test_links_clocks_and_configurations_change(control: Control) -> None:
    path = control.new_cluster(**THREE_BROKERS)
    for verb in ("hold", "release", "cut", "restore"):
        control.post(f"{path}/links/1/2/{verb}")
    control.post(f"{path}/links/1/2/delay", {"delay_ms": 5})
    control.post(f"{path}/brokers/3/clock", {"jump_ms": 60_000, "drift_ppm": 100})
    control.post(f"{path}/brokers/3/isolate")
    control.post(f"{path}/brokers/3/rejoin")
    assert control.call("PATCH", f"{path}/topics/orders/configs", {"retention.ms": "1000"}).status == 204
    assert control.get(f"{path}/topics/orders")["configs"] == {"retention.ms": "1000"}
    control.post(f"{path}/topics/orders/partitions/0/reassign", {"replicas": [2, 3]})
    assert control.call("DELETE", f"{path}/topics/orders").status == 204
    assert control.call("GET", f"{path}/topics/orders").status == 404


def test_several_controllers_fail_one_at_a_time(control: Control) -> None:
    path = control.new_cluster(brokers=1, controllers=3)
    killed = control.post(f"{path}/controllers/active/kill")["controller"]
    control.post(f"{path}/controllers/{killed}/restart")
    assert control.call("POST", f"{path}/controllers/1/kill").status == 404


def test_events_are_queried_and_streamed(control: Control) -> None:
    path = control.new_cluster(**ONE_BROKER)
    found = control.get(f"{path}/events?kind=LeaderElected&where=topic=orders,partition=1")
    assert [each["partition"] for each in found["events"]] == [1]
    with urlopen(f"{control.url}{path}/events/stream?after=0", timeout=SECONDS_MAX) as stream:
        assert stream.headers["Content-Type"] == "text/event-stream"
        kinds = (event["kind"] for event in streamed(stream))
        assert next(kinds) == found_kind(control, path, 1)
        send(servers_of(control, path))
        assert "BatchAppended" in kinds
    requests = control.get(f"{path}/requests?api=Produce")
    assert [each["broker"] for each in requests] == [1]


def found_kind(control: Control, path: str, sequence: int) -> str:
    kind: str = control.get(f"{path}/events?after={sequence - 1}&limit=1")["events"][0]["kind"]
    return kind


def streamed(stream: Any) -> Iterator[dict[str, Any]]:
    """Return the events of a stream; a blank line ends each."""
    for line in stream:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


def test_metrics_are_prometheus_text(control: Control) -> None:
    path = control.new_cluster(brokers=1)
    response = control.call("GET", f"{path}/metrics")
    assert response.headers["Content-Type"].startswith("text/plain")
    assert "# TYPE kafka_server_replicamanager_leadercount gauge" in response.text


def test_clusters_are_listed_and_closed(control: Control) -> None:
    path = control.new_cluster(name="mine", brokers=1)
    assert "mine" in [each["name"] for each in control.get("/clusters")]
    assert control.call("POST", "/clusters", {"name": "mine"}).status == 400
    assert control.call("DELETE", path).status == 204
    assert control.call("GET", path).json["detail"].startswith("there is no cluster 'mine'")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "detail"),
    [
        ("GET", "/clusers", None, 404, "there is no path /clusers; did you mean '/clusters'?; see /openapi.json"),
        ("PUT", "/clusters", None, 405, "PUT is not a method of /clusters: expected GET, POST"),
        ("POST", "/clusters", {"broker": 3}, 400, "unknown key 'broker'; did you mean 'brokers'?"),
        ("POST", "/clusters", {"brokers": "3"}, 400, "key: Expected `int`, got `str` - at `$.brokers`"),
        ("POST", "/clusters", {"release": "9.9"}, 400, "release '9.9' is not emulated"),
        ("POST", "/clusters", {"topics": ["orders:0:1"]}, 400, "expected name:partitions:replication"),
        ("POST", "/clusters", {"config": {"min.insync.replica": 2}}, 400, "did you mean 'min.insync.replicas'?"),
        ("POST", "/clusters", {"name": "a/b"}, 400, "name: 'a/b' is not 1 to 100 letters"),
        ("POST", "/clusters/bad/brokers/7/kill", None, 404, "there is no broker 7: they are [1]"),
        ("POST", "/clusters/bad/brokers/one/kill", None, 404, "broker 'one' is not a whole number"),
        ("POST", "/clusters/bad/rules", None, 400, "addRule needs a body in JSON"),
        ("POST", "/clusters/bad/rules", {"act": {"kill": 7}}, 400, "act.kill: there is no broker 7"),
        ("POST", "/clusters/bad/rules", {"act": "disconect"}, 400, "did you mean 'disconnect'?"),
        ("POST", "/clusters/bad/rules", {"act": "disconnect", "when": {"acked_share": 0.5}}, 400, "acked_records"),
        ("GET", "/clusters/bad/rules/lost", None, 404, "there is no rule 'lost'"),
        ("GET", "/clusters/bad/topics/order", None, 404, "there is no topic 'order'; did you mean 'orders'?"),
        ("GET", "/clusters/bad/topics/orders/partitions/9", None, 404, "there is no partition orders-9"),
        ("GET", "/clusters/bad/topics/orders/records?partition=9", None, 404, "there is no partition orders-9"),
        ("GET", "/clusters/bad/topics/orders/records?from=1", None, 400, "unknown query parameter 'from'"),
        ("GET", "/clusters/bad/topics?x=1", None, 400, "x: listTopics has no query parameters"),
        ("GET", "/clusters/bad/wait/leader?topic=orders&partition=0&partition=1", None, 400, "partition: given twice"),
        ("GET", "/clusters/bad/wait/leader", None, 400, "missing required field `topic`"),
        ("GET", "/clusters/bad/wait/rule?rule=none", None, 404, "there is no rule 'none'"),
        ("GET", "/clusters/bad/wait/quiet?timeout_ms=0", None, 400, "timeout_ms: 0 is not above 0"),
        ("GET", "/clusters/bad/wait/isr?topic=orders&brokers=a", None, 400, "is not a list of broker ids"),
        ("GET", "/clusters/bad/wait/group?group=g&timeout_ms=1", None, 504, "no such group"),
        ("GET", "/clusters/bad/events?kind=LeaderElectd", None, 400, "did you mean 'LeaderElected'?"),
        ("GET", "/clusters/bad/events?kind=LeaderElected&where=topik=1", None, 400, "did you mean 'topic'?"),
        ("GET", "/clusters/bad/requests?api=Prodce", None, 400, "did you mean 'Produce'?"),
        ("GET", "/clusters/bad/groups/g", None, 404, "there is no group 'g'"),
        ("GET", "/clusters/bad/transactions/t", None, 404, "there is no transactional id 't'"),
        ("POST", "/clusters/bad/links/1/9/cut", None, 404, "there is no broker 9"),
        ("POST", "/clusters/bad/links/1/3000/delay", {"delay_ms": -1}, 400, "delay_ms: -1 is below 0"),
        ("POST", "/clusters/bad/verify", {"count": "many"}, 400, "count: 'many' is not a number"),
        ("POST", "/clusters/bad/controllers/active/kill", None, 400, "one controller, which never fails"),
    ],
)
def test_bad_input_is_a_problem_that_names_it(
    control: Control, method: str, path: str, body: Any, status: int, detail: str
) -> None:
    if control.call("GET", "/clusters/bad").status == 404:
        control.new_cluster(name="bad", **ONE_BROKER)
    response = control.call(method, path, body)
    assert response.status == status
    assert response.headers["Content-Type"] == "application/problem+json"
    assert detail in response.json["detail"]
    assert response.json["status"] == status


def test_broken_json_is_refused(control: Control) -> None:
    response = control.call("POST", "/clusters", data=b"{")
    assert (response.status, response.json["detail"][:20]) == (400, "the body is not JSON")


def test_each_call_has_one_name_and_one_place() -> None:
    names = [each.name for each in OPERATIONS]
    assert len(set(names)) == len(names)
    places = [(each.method, each.path) for each in OPERATIONS]
    assert len(set(places)) == len(places)

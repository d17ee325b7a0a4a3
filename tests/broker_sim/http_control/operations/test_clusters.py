from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.http_control.sent_records import THREE_BROKERS, send, servers_of

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control


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

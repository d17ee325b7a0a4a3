from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.http_control.sent_records import ONE_BROKER, THREE_BROKERS

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control


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


def test_a_broker_is_paused_and_goes_on(control: Control) -> None:
    path = control.new_cluster(**THREE_BROKERS)
    control.post(f"{path}/brokers/2/pause")
    assert [each["paused"] for each in control.get(f"{path}/brokers")] == [False, True, False]
    control.post(f"{path}/brokers/2/resume")
    assert control.get(f"{path}/brokers/2")["paused"] is False
    control.post(f"{path}/brokers/2/kill")
    response = control.call("POST", f"{path}/brokers/2/pause")
    assert (response.status, response.json["detail"]) == (400, "broker 2 is down: nothing can be paused")


def test_several_controllers_fail_one_at_a_time(control: Control) -> None:
    path = control.new_cluster(brokers=1, controllers=3)
    killed = control.post(f"{path}/controllers/active/kill")["controller"]
    control.post(f"{path}/controllers/{killed}/restart")
    assert control.call("POST", f"{path}/controllers/1/kill").status == 404


def test_configurations_of_brokers_are_set_and_deleted(control: Control) -> None:
    path = control.new_cluster(**ONE_BROKER)
    assert control.call("PATCH", f"{path}/brokers/1/configs", {"log.cleaner.threads": 2}).status == 204
    assert control.call("PATCH", f"{path}/brokers/1/configs", {"log.cleaner.threads": None}).status == 204
    assert control.call("PATCH", f"{path}/configs", {"message.max.bytes": 5_000}).status == 204
    refused = control.call("PATCH", f"{path}/configs", {"message.max.bytes": "many"})
    assert "INVALID_CONFIG" in refused.json["detail"] or "INVALID_REQUEST" in refused.json["detail"]
    assert control.call("PATCH", f"{path}/brokers/7/configs", {"message.max.bytes": 5_000}).status == 404

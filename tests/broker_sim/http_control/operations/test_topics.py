from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.http_control.sent_records import ONE_BROKER, THREE_BROKERS, send, servers_of

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control


def test_topics_are_created_changed_and_deleted(control: Control) -> None:
    path = control.new_cluster(**THREE_BROKERS)
    created = control.call("POST", f"{path}/topics", {"name": "more", "partitions": 2, "replication_factor": 3})
    assert (created.status, len(created.json["partitions"])) == (201, 2)
    assert control.call("PATCH", f"{path}/topics/more/configs", {"retention.ms": 1000}).status == 204
    assert control.get(f"{path}/topics/more")["configs"] == {"retention.ms": "1000"}
    assert control.call("PATCH", f"{path}/topics/more/configs", {"retention.ms": None}).status == 204
    assert control.get(f"{path}/topics/more")["configs"] == {}
    control.post(f"{path}/topics/more/partitions/0/reassign", {"replicas": [2, 3]})
    assert control.call("DELETE", f"{path}/topics/more").status == 204
    assert control.call("GET", f"{path}/topics/more").status == 404


def test_a_topic_grows_and_begins_again(control: Control) -> None:
    path = control.new_cluster(**ONE_BROKER)
    before = control.get(f"{path}/topics/orders")
    grown = control.call("POST", f"{path}/topics/orders/partitions", {"count": 2})
    assert (grown.status, len(grown.json["partitions"])) == (200, len(before["partitions"]) + 2)
    assert (
        len(control.call("POST", f"{path}/topics/orders/partitions").json["partitions"])
        == len(before["partitions"]) + 3
    )
    refused = control.call("POST", f"{path}/topics/orders/partitions", {"count": 0})
    assert (refused.status, refused.json["detail"]) == (400, "count: 0 adds no partition; expected at least 1")
    assert control.call("POST", f"{path}/topics/order/partitions").status == 404
    again = control.call("POST", f"{path}/topics/orders/recreate").json
    assert again["id"] != before["id"]
    assert len(again["partitions"]) == len(before["partitions"]) + 3


def test_records_have_text_and_bytes(control: Control) -> None:
    path = control.new_cluster(**ONE_BROKER)
    send(servers_of(control, path), 3)
    records = control.get(f"{path}/topics/orders/records?partition=0&offset=1&limit=1")
    assert [(each["offset"], each["value"], each["value_base64"]) for each in records] == [(1, "v1", "djE=")]
    assert records[0]["sequence"] == 1
    control.post(f"{path}/topics/orders/partitions/0/delete-records", {"before_offset": 2})
    assert [each["offset"] for each in control.get(f"{path}/topics/orders/records")] == [2]
    assert control.get(f"{path}/topics/orders/partitions/0")["log_start_offset"] == 2

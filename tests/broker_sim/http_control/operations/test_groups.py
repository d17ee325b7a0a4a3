from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client import Consumer, Producer
from tests.broker_sim.http_control.sent_records import ONE_BROKER, SECONDS_MAX, send, servers_of

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control


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


def test_a_group_without_members_is_deleted(control: Control) -> None:
    path = control.new_cluster(**ONE_BROKER)
    servers = servers_of(control, path)
    send(servers, 1)
    with Consumer(bootstrap_servers=servers, group_id="readers", auto_offset_reset="earliest") as consumer:
        consumer.subscribe(["orders"])
        assert consumer.poll(SECONDS_MAX)
        refused = control.call("DELETE", f"{path}/groups/readers")
        assert (refused.status, refused.json["detail"]) == (400, "DeleteGroups of readers: NON_EMPTY_GROUP")
    assert control.call("DELETE", f"{path}/groups/readers").status == 204
    assert control.get(f"{path}/groups") == []
    assert control.call("DELETE", f"{path}/groups/readers").status == 404

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.http_control.sent_records import ONE_BROKER, send, servers_of

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control


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

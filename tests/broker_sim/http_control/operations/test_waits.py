from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.http_control.sent_records import ONE_BROKER

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control


def test_a_wait_reports_the_state_at_its_end(control: Control) -> None:
    path = control.new_cluster(**ONE_BROKER)
    assert control.get(f"{path}/wait/isr?topic=orders&brokers=1") == {"isr": [1]}
    active = control.get(f"{path}/wait/controller")["controller"]
    response = control.call("GET", f"{path}/wait/controller?other_than={active}&timeout_ms=10")
    assert f"an active controller other than node {active}" in response.json["detail"]
    control.post(f"{path}/brokers/1/kill")
    response = control.call("GET", f"{path}/wait/leader?topic=orders&timeout_ms=10")
    assert response.status == 504
    assert "waited 10 ms for a running leader of orders-0" in response.json["detail"]
    response = control.call("GET", f"{path}/wait/quiet?timeout_ms=10")
    assert "now: broker 1 is down" in response.json["detail"]
    control.post(f"{path}/brokers/1/restart")
    assert control.call("GET", f"{path}/wait/quiet").status == 204

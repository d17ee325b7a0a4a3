from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.http_control.sent_records import ONE_BROKER

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control


def test_users_of_scram_are_created_and_deleted(control: Control) -> None:
    path = control.new_cluster(**ONE_BROKER)
    user = f"{path}/scram-users/ann"
    assert control.call("PUT", user, {"password": "secret", "mechanism": "SCRAM-SHA-512"}).status == 204
    refused = control.call("DELETE", user)
    assert (refused.status, "RESOURCE_NOT_FOUND" in refused.json["detail"]) == (400, True)
    assert control.call("DELETE", f"{user}?mechanism=SCRAM-SHA-512").status == 204
    refused = control.call("PUT", user, {"password": "secret", "mechanism": "PLAIN"})
    assert "there is no SCRAM mechanism 'PLAIN'; there are SCRAM-SHA-256, SCRAM-SHA-512" in refused.json["detail"]
    assert control.call("PUT", user, {"passwort": "secret"}).status == 400

import pytest

from broker_sim.apis.group_requests import client_info
from protocol_specs.messages.heartbeat import HeartbeatRequest


@pytest.mark.parametrize(("client_id", "known"), [("ann", "ann"), (None, ""), ("", "")])
def test_a_client_has_an_id_and_an_address_as_java_prints_it(bench, client_id, known):
    context = bench().context(HeartbeatRequest(), 3, client_id=client_id)
    assert client_info(context) == (known, "/127.0.0.1", 3, None)

"""SaslHandshake outside of an authentication."""

from __future__ import annotations

from typing import Any

from broker_sim.apis.sasl_handshake import HANDLER
from protocol_specs.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def test_it_is_refused_without_mechanisms() -> None:
    context: Any = None
    response = HANDLER.handle(SaslHandshakeRequest(mechanism="PLAIN"), context)
    assert isinstance(response, SaslHandshakeResponse)
    assert (response.error_code, response.mechanisms) == (34, [])

"""SaslAuthenticate outside of an authentication."""

from __future__ import annotations

from typing import Any

from broker_sim.apis.sasl_authenticate import HANDLER
from protocol_specs.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


def test_it_is_refused_with_a_text() -> None:
    context: Any = None
    response = HANDLER.handle(SaslAuthenticateRequest(auth_bytes=b"x"), context)
    assert isinstance(response, SaslAuthenticateResponse)
    assert response.error_code == 34
    assert response.error_message == "SaslAuthenticate request received after successful authentication"

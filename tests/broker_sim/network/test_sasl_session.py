"""The session of a connection begins without an end, and without a failure."""

from __future__ import annotations

from typing import Any

from broker_sim.network.sasl_session import SaslSession


def test_a_new_session_has_no_end_and_no_failure() -> None:
    authenticator: Any = object()
    session = SaslSession(authenticator=authenticator)
    assert session.authenticator is authenticator
    assert (session.expires_us, session.reauthentication_us, session.failure, session.delay) == (None,) * 4

"""The states of an authentication: every state leads on, and nothing follows the two final ones."""

from __future__ import annotations

from broker_sim.security.sasl.states import SASL_TABLE, SaslEvent, SaslState


def test_a_finished_authentication_takes_no_event() -> None:
    assert SASL_TABLE.allowed(SaslState.COMPLETE) == ()
    assert SASL_TABLE.allowed(SaslState.FAILED) == ()


def test_every_other_state_can_fail() -> None:
    unfinished = set(SaslState) - {SaslState.COMPLETE, SaslState.FAILED}
    assert {state for state in SaslState if SASL_TABLE.allows(state, SaslEvent.FAIL)} == unfinished


def test_only_the_tokens_of_a_mechanism_lead_to_the_end() -> None:
    sources = [state for state in SaslState if SASL_TABLE.allows(state, SaslEvent.AUTHENTICATED)]
    assert sources == [SaslState.AUTHENTICATE]

"""The errors of mechanisms are errors of the simulator's own family."""

from __future__ import annotations

from broker_sim.errors import BrokerSimError
from broker_sim.security.sasl.sasl_server import AuthenticationFailed, InvalidCredentials, UnexpectedToken


def test_a_failed_exchange_raises_one_of_three_distinct_errors() -> None:
    errors = (AuthenticationFailed, InvalidCredentials, UnexpectedToken)
    assert all(issubclass(error, BrokerSimError) for error in errors)
    assert not any(issubclass(first, second) for first in errors for second in errors if first is not second)

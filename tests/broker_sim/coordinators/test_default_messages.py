from __future__ import annotations

from broker_sim.coordinators.default_messages import default_message
from protocol_specs.error_codes import ErrorCode


def test_an_error_without_a_text_of_its_own_is_unexpected() -> None:
    assert default_message(ErrorCode.NOT_COORDINATOR) == "This is not the correct coordinator."
    assert default_message(ErrorCode.CORRUPT_MESSAGE).startswith("The server experienced an unexpected error")

"""The error NOT_CONTROLLER in responses: its text, and where it is found. Mirrors ControllerExceptions."""

from __future__ import annotations

from typing import Any, Final

from protocol_specs.error_codes import ErrorCode

__all__ = ["is_not_controller", "with_error_text", "wrong_controller"]

PLAIN_TEXT: Final = "This is not the correct controller for this cluster."
"""The error's own text."""
_PARTS: Final = (
    "topics",
    "results",
    "responses",
    "replica_election_results",
    "partition_result",
    "partitions",
    "entries",
)
"""Where responses have parts with errors of their own."""


def wrong_controller(leader_id: int) -> str:
    """Name the active controller, as far as it is known. Mirrors newWrongControllerException."""
    if leader_id < 0:
        return "No controller appears to be active."
    return f"The active controller appears to be node {leader_id}."


def with_error_text(part: Any, text: str) -> Any:
    """Set the error text of each NOT_CONTROLLER in a response that has a field for it; return the response."""
    if getattr(part, "error_code", None) == ErrorCode.NOT_CONTROLLER and not getattr(part, "error_message", text):
        part.error_message = text
    for name in _PARTS:
        for each in getattr(part, name, None) or ():
            with_error_text(each, text)
    return part


def is_not_controller(part: Any) -> bool:
    """Return True if NOT_CONTROLLER is anywhere in a response."""
    if getattr(part, "error_code", None) == ErrorCode.NOT_CONTROLLER:
        return True
    return any(is_not_controller(each) for name in _PARTS for each in getattr(part, name, None) or ())

"""The words of a controller that is not the active one. Mirrors ControllerExceptions.newWrongControllerException."""

from __future__ import annotations

from typing import Any, Final

from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode

__all__ = ["says_not_controller", "with_words", "wrong_controller"]

_PARTS: Final = ("topics", "results", "responses", "replica_election_results", "partition_result", "partitions")
"""Where answers have parts with errors of their own."""
_WITHOUT_WORDS: Final = (49, 70)
"""AlterClientQuotas and ControllerRegistration tell the error's own text."""


def wrong_controller(leader_id: int) -> str:
    """Who is active, as far as is known."""
    if leader_id < 0:
        return "No controller appears to be active."
    return f"The active controller appears to be node {leader_id}."


def with_words(response: Any, api_key: int, leader_id: int, *, unregistration_explains: bool) -> Any:
    """An answer that is NOT_CONTROLLER in all its parts, with the words for it wherever there is room."""
    text = wrong_controller(leader_id)
    if api_key == ApiKey.UNREGISTER_BROKER and not unregistration_explains:
        text = ""
    if api_key in _WITHOUT_WORDS:
        text = "This is not the correct controller for this cluster."
    _set_words(response, text)
    return response


def _set_words(part: Any, text: str) -> None:
    if getattr(part, "error_code", None) == ErrorCode.NOT_CONTROLLER and hasattr(part, "error_message"):
        part.error_message = text
    for name in (*_PARTS, "entries"):
        for each in getattr(part, name, None) or ():
            _set_words(each, text)


def says_not_controller(part: Any) -> bool:
    """Whether NOT_CONTROLLER is anywhere in an answer."""
    if getattr(part, "error_code", None) == ErrorCode.NOT_CONTROLLER:
        return True
    return any(says_not_controller(each) for name in (*_PARTS, "entries") for each in getattr(part, name, None) or ())

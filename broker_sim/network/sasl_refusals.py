"""The responses to requests that come in the middle of an authentication, with the texts of their APIs.

Mirrors getErrorResponse of each request for an IllegalSaslStateException: some take the text of the exception, others
that of the error, and most have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from protocol_specs.api_key import ApiKey, RefusalText
from protocol_specs.error_codes import ErrorCode
from protocol_specs.message import Struct

if TYPE_CHECKING:
    from broker_sim.config.release_behaviour import ReleaseBehaviour

__all__ = ["with_refusal_text"]

S = TypeVar("S", bound=Struct)

_OF_THE_ERROR: Final = "Request is not valid given the current SASL state."


def with_refusal_text(response: S, api_key: ApiKey, reason: str, behaviour: ReleaseBehaviour) -> S:
    """Return an error response of an API with its text; `reason` is that of the exception."""
    kind = api_key.facts.login_refusal
    if api_key is ApiKey.UNREGISTER_BROKER and not behaviour.refused_unregistrations_have_texts:
        kind = None
    if kind is None:
        return response
    texts = {RefusalText.NULL: None, RefusalText.OF_ERROR: _OF_THE_ERROR, RefusalText.OF_EXCEPTION: reason}
    return _with_text(response, texts[kind])


def _with_text(message: S, text: str | None) -> S:
    """Return a struct in which every ILLEGAL_SASL_STATE has the text."""
    fields = {each.name: getattr(message, each.name) for each in message.FIELDS}
    for name, value in fields.items():
        if isinstance(value, list):
            fields[name] = [_with_text(each, text) if isinstance(each, Struct) else each for each in value]
    if fields.get("error_code") == ErrorCode.ILLEGAL_SASL_STATE and "error_message" in fields:
        fields["error_message"] = text
    return type(message)(**fields)

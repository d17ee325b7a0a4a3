"""DefaultPrincipalData: a principal in an Envelope request.

Mirrors DefaultKafkaPrincipalBuilder; KIP-590.
"""

from __future__ import annotations

from protocol_specs.fields import Bool, String
from protocol_specs.message import Message, field, message


@message(versions="0", flexible="0+")
class DefaultPrincipalData(Message):
    """A principal in an Envelope request."""

    type: str = field(String)
    name: str = field(String)
    token_authenticated: bool = field(Bool)

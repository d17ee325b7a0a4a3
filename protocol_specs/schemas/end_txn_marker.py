"""EndTxnMarker: the value of a control record that ends a transaction, behind its version.

Mirrors EndTransactionMarker; KIP-98.
"""

from __future__ import annotations

from protocol_specs.fields import Int32
from protocol_specs.message import Message, field, message


@message(versions="0")
class EndTxnMarker(Message):
    """The value of a control record that ends a transaction, behind its version."""

    coordinator_epoch: int = field(Int32)

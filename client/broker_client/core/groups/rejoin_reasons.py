"""The reasons that a member sends with JoinGroup and LeaveGroup (KIP-800), in the words of Java's consumer."""

from __future__ import annotations

from typing import Final

from broker_client.errors import BrokerError, ConnectionFailed, ProducerTimeout

__all__ = ["failed_reason", "truncated_reason"]

_LENGTH_MAX: Final = 255


def failed_reason(error: BaseException) -> str:
    """Return the reason of a join that follows a failed one: it names Java's exception."""
    if isinstance(error, BrokerError):
        name = "".join(word.capitalize() for word in error.error_code.name.split("_")) + "Exception"
    elif isinstance(error, (ConnectionFailed, ProducerTimeout)):
        name = "DisconnectException"
    else:
        name = type(error).__name__
    return f"rebalance failed due to {name}"


def truncated_reason(reason: str) -> str:
    """Return at most as many characters as Java sends."""
    return reason[:_LENGTH_MAX]

"""The authentications of one Processor of a SASL listener. Mirrors the sensors of Selector and Processor."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SaslCounts"]


@dataclass(slots=True)
class SaslCounts:
    """The numbers since the start; a re-authentication counts apart from an authentication."""

    successful_authentications: int = 0
    successful_reauthentications: int = 0
    failed_authentications: int = 0
    failed_reauthentications: int = 0
    expired_sessions: int = 0
    """Connections that were closed because their session had expired (ExpiredConnectionsKilledCount)."""

    def by_name(self) -> dict[str, int]:
        """Return the numbers that Kafka has per listener and network thread, under its names without `-total`."""
        return {
            "successful-authentication": self.successful_authentications,
            "successful-reauthentication": self.successful_reauthentications,
            "failed-authentication": self.failed_authentications,
            "failed-reauthentication": self.failed_reauthentications,
        }

"""Which records of transactions a reader sees. Mirrors IsolationLevel; KIP-98."""

from __future__ import annotations

from enum import IntEnum

from broker_client.errors import ConfigError

__all__ = ["IsolationLevel"]


class IsolationLevel(IntEnum):
    """`isolation.level`, by its number on the wire."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1

    @classmethod
    def of(cls, value: str | IsolationLevel) -> IsolationLevel:
        """The level of a configuration's text; raises ConfigError."""
        if isinstance(value, IsolationLevel):
            return value
        if value in ("read_uncommitted", "read_committed"):
            return cls[value.upper()]
        raise ConfigError(f"isolation.level={value!r}: expected read_uncommitted or read_committed")

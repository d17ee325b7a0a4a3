"""The isolation levels of consumers. Mirrors IsolationLevel; KIP-98."""

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
        """Return the level that a text names.

        Raises:
            ConfigError: the text is neither read_uncommitted nor read_committed.
        """
        if isinstance(value, IsolationLevel):
            return value
        if value in ("read_uncommitted", "read_committed"):
            return cls[value.upper()]
        raise ConfigError(f"isolation.level={value!r}: expected read_uncommitted or read_committed")

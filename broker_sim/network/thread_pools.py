"""Limits for changes of the thread pools while a broker runs. Mirrors DynamicThreadPool."""

from __future__ import annotations

from broker_sim.errors import ConfigError

__all__ = ["check_resize"]


def check_resize(name: str, current: int, size: int) -> None:
    """Check a new pool size: at least half and at most double the current one. The error texts are Kafka's.

    Raises:
        ConfigError: The size is below 1, below half or above double the current size.
    """
    if size == current:
        return
    refusal = f"Dynamic thread count update validation failed for {name}={size}"
    if size <= 0:
        msg = f"{refusal}, value should be at least 1"
    elif size < current // 2:
        msg = f"{refusal}, value should be at least half the current value {current}"
    elif size > current * 2:
        msg = f"{refusal}, value should not be greater than double the current value {current}"
    else:
        return
    raise ConfigError(msg)

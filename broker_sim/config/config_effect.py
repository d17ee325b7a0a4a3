"""Which configurations something in the simulator acts on; all others are known and shown alone."""

from __future__ import annotations

from typing import Final

from broker_sim.config.broker_config import acts_on
from broker_sim.config.config_names import base_name

_TOPIC: Final = frozenset(
    {
        "cleanup.policy",
    }
)


def has_effect(name: str) -> bool:
    """Whether a broker configuration, also one of a listener, changes what the simulator does."""
    return acts_on(base_name(name))

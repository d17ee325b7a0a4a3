"""The bytes of an unsynced file end that survive a power loss, with torn writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

__all__ = ["kept_after_power_loss"]

SECTOR_BYTES: Final = 512
TORN_OF_TEN: Final = 5
"""The number of power losses out of ten whose last sector is torn."""


def kept_after_power_loss(tail: bytes, random: Random) -> bytes:
    """Return a prefix of `tail`, of any length; its last sector may contain zeros, or random bytes."""
    kept = tail[: random.randint(0, len(tail))]
    if not kept or random.randrange(10) >= TORN_OF_TEN:
        return kept
    torn = min(len(kept), random.randint(1, SECTOR_BYTES))
    return kept[: len(kept) - torn] + (bytes(torn) if random.getrandbits(1) else random.randbytes(torn))

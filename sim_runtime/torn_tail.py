"""What a loss of power leaves of bytes that were written and not synced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

__all__ = ["kept_after_power_loss"]

SECTOR_BYTES: Final = 512
TORN_OF_TEN: Final = 5
"""In how many of ten losses the end of what is kept is not what was written."""


def kept_after_power_loss(tail: bytes, random: Random) -> bytes:
    """A beginning of `tail`, of any length; its last sector may hold zeros, or anything."""
    kept = tail[: random.randint(0, len(tail))]
    if not kept or random.randrange(10) >= TORN_OF_TEN:
        return kept
    torn = min(len(kept), random.randint(1, SECTOR_BYTES))
    return kept[: len(kept) - torn] + (bytes(torn) if random.getrandbits(1) else random.randbytes(torn))

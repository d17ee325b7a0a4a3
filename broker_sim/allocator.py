"""Settings of malloc for a serving process: the blocks of a large request are reused by the next one.

By default glibc maps each large block for itself and unmaps it when it is freed, and gives the end of its heap back to
the system: requests of a megabyte have every page of theirs zeroed and mapped anew, which takes as long as what is done
with them.
"""

from __future__ import annotations

import ctypes
from typing import Final

__all__ = ["reuse_large_blocks"]

# mallopt's parameters, and their values in bytes.
_M_TRIM_THRESHOLD: Final = -1
_M_TOP_PAD: Final = -2
_M_MMAP_THRESHOLD: Final = -3
KEPT_BYTES: Final = 256 << 20
GROWTH_BYTES: Final = 16 << 20
MAPPED_FROM_BYTES: Final = 32 << 20


def reuse_large_blocks() -> bool:
    """Make malloc keep up to KEPT_BYTES of freed memory. Returns False where malloc is not glibc's."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    settings = (_M_TRIM_THRESHOLD, KEPT_BYTES), (_M_TOP_PAD, GROWTH_BYTES), (_M_MMAP_THRESHOLD, MAPPED_FROM_BYTES)
    return all(mallopt(parameter, value) for parameter, value in settings)

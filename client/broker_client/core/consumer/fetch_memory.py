"""Keeps the memory of fetch responses in the process from one fetch to the next. No class of Kafka does this.

glibc maps a block above M_MMAP_THRESHOLD, 128 KiB at first, and unmaps it when it is freed. It also returns the free
end of the heap when that exceeds twice the threshold. A consumer would have every page of every response mapped and
cleared anew, which takes longer than to read the records. The threshold rises to the size of the largest mapped block
that was freed.
"""

from __future__ import annotations

from typing import Final

__all__ = ["keep_fetch_memory"]

# A response, its records and the next response fit with max.partition.fetch.bytes=1048576.
_BLOCK_BYTES: Final = 8 << 20


def keep_fetch_memory() -> None:
    """Raise glibc's threshold by freeing one block, whose pages are never touched; no effect on other libraries."""
    bytes(_BLOCK_BYTES)

"""Counts the forks of this process: a client's network thread exists only in the process that created it.

`os.getpid` would detect a fork as well, but costs a system call per record.
"""

from __future__ import annotations

import os

__all__ = ["forks"]


class _Forks:
    """`count` changes in the child of a fork only."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def forked(self) -> None:
        self.count += 1


forks = _Forks()
os.register_at_fork(after_in_child=forks.forked)

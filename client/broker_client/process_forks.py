"""How often this process was forked: what threads serve stays behind in the parent.

`os.getpid` would tell as much, at a system call for every record.
"""

from __future__ import annotations

import os

__all__ = ["forks"]


class _Forks:
    """`count` changes in the child of a fork, and nowhere else."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def forked(self) -> None:
        self.count += 1


forks = _Forks()
os.register_at_fork(after_in_child=forks.forked)

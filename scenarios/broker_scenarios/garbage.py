"""The garbage collector of processes that run many seeds or check many records: few cycles die early."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["collect_rarely", "collect_run", "rare_collections", "without_collections"]

_NEW_OBJECTS: Final = 1_000_000
"""The new objects after which the youngest are collected: more than a run of a swarm makes. A seed of a swarm takes a
sixth less time than with 700, the default of Python 3.11.
"""


def collect_rarely() -> None:
    """Collect rarely from now on, and never visit the objects that are there: modules, codecs, the scenario."""
    _, *older = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *older)
    gc.collect()
    gc.freeze()


def collect_run() -> None:
    """Collect the objects of a run that has ended: nearly all are garbage, and the next run takes their place."""
    gc.collect(1)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect rarely while the body runs."""
    before = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def without_collections() -> Iterator[None]:
    """Collect no cycles meanwhile: the collector would walk a whole history again and again, and find none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

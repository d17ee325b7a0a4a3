"""The command that runs a scenario again: with every option that changes the run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["reproduce_command"]


def reproduce_command(path: Path, *, where: str, seed: int, records: int | None) -> str:
    """Return the command line; `where` is its option of the target, `records` the number given with it."""
    command = ["broker-sim", "run", str(path), *where.split(), "--seed", str(seed)]
    return shlex.join(command if records is None else [*command, "--records", str(records)])

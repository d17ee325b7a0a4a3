"""Clients that are measured in a process of their own: the memory and the processor of a process change its speed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RUN_SECONDS_MAX", "measure"]

RUN_SECONDS_MAX = 120


def measure(
    program: str,
    kind: str,
    servers: Sequence[str],
    topic: str,
    record_bytes: int,
    count: int,
    *configs: str,
    rounds: int = 1,
) -> list[list[float]]:
    """Run a program of this folder, with one client per bootstrap servers; return their figures, round by round."""
    path = Path(__file__).with_name(f"{program}.py")
    arguments = [kind, topic, str(record_bytes), str(count), str(rounds), *servers, *configs]
    run = subprocess.run(
        [sys.executable, path, *arguments], stdout=subprocess.PIPE, text=True, check=True, timeout=RUN_SECONDS_MAX
    )
    return [[float(figure) for figure in line.split()] for line in run.stdout.splitlines()]

"""The recorded assignments of Java's assignors, one line per case: `member=BASE64 ...`."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

ARCHIVE: Final = Path(__file__).parent / "java_assignments.txt.gz"


def record(lines: Sequence[str]) -> None:
    """Replace the recording; equal lines give equal bytes."""
    ARCHIVE.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), 9, mtime=0))


def recorded() -> list[str]:
    """The line of each case."""
    return gzip.decompress(ARCHIVE.read_bytes()).decode().splitlines()

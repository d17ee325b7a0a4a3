"""Results printed line by line: a reader that closes the pipe (`| head`) ends the command without an error."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def print_lines(lines: Iterable[str]) -> None:
    """Write each line to stdout as soon as it is made; lines before an error stay written."""
    write = sys.stdout.write
    try:
        try:
            for line in lines:
                write(line)
                write("\n")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        abandon_stdout()


def abandon_stdout() -> None:
    """Discard what stdout still holds, after its reader has closed the pipe."""
    # The interpreter flushes stdout once more at exit: that must not fail too.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

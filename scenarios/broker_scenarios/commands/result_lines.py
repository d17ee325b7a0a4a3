"""Printing results line by line as they are made: a reader that has seen enough (`| head`) ends the command quietly."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def print_lines(lines: Iterable[str]) -> None:
    """Write each line to stdout as soon as it is made; an error of the maker leaves those before it written."""
    write = sys.stdout.write
    try:
        try:
            for line in lines:
                write(line)
                write("\n")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes stdout once more at exit: that must not fail too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

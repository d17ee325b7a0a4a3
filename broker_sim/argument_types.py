"""Numbers and addresses on the command line, for argparse's `type`; an error names the text and the expected form."""

from __future__ import annotations

import argparse
from typing import Final

__all__ = ["address", "positive", "seed", "whole"]

SEEDS: Final = 2**63


def whole(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number") from None


def positive(text: str) -> int:
    """A whole number of at least 1."""
    value = whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number of at least 1")
    return value


def seed(text: str) -> int:
    """A seed: the origin of the random streams of a run."""
    value = whole(text)
    if not 0 <= value < SEEDS:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from 0 to 2^63 - 1")
    return value


def address(text: str) -> tuple[str, int]:
    """An address of a broker."""
    host, _, port = text.rpartition(":")
    if not host or "," in host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise argparse.ArgumentTypeError(f"{text!r}: expected HOST:PORT")
    return host, int(port)

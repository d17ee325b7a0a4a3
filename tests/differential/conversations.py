"""The options of explorers, and the conversations of one run in classes of differences.

A conversation that parts is held again under another name; only what parts twice is reported: a real broker without CPU
time for long behaves differently.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.differential.case import RELEASES

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KEPT_RECORDS", "Parting", "explorer_arguments", "hold_all"]

KEPT_RECORDS: Final = {"log.retention.ms": "-1"}
"""Without it, retention removes the records of explorers, whose times are old, once in 30 s after the start."""

TURNS: Final = ("x", "y")


class Parting(NamedTuple):
    """The place where the sides part: the key of its class, and what was sent and received up to there."""

    key: str
    lines: list[str]


def explorer_arguments(description: str | None, *, sequences: int, steps: int) -> argparse.ArgumentParser:
    """Return a parser with the options of every explorer; the numbers are their defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", choices=RELEASES, default=RELEASES[-1])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sequences", type=int, default=sequences)
    parser.add_argument("--steps", type=int, default=steps, help="of each, besides those that begin and end it")
    parser.add_argument("--only", type=int, help="the number of a single sequence")
    return parser


def hold_all(arguments: argparse.Namespace, converse: Callable[[int, str], Parting | None]) -> int:
    """Hold the conversations, print where they part, and return the exit code: 1 if one has parted twice.

    `converse` holds the conversation of a number; its second argument, x or y, keeps the names of two turns apart.
    """
    classes: dict[str, list[int]] = {}
    numbers = range(arguments.sequences) if arguments.only is None else [arguments.only]
    for number in numbers:
        parting = _parting_of(number, converse)
        if parting is None:
            continue
        seen = classes.setdefault(parting.key, [])
        if not seen:
            print("\n      ".join([f"--- {parting.key}   (sequence {number})", *parting.lines]), flush=True)
        seen.append(number)
    print(f"{len(numbers)} sequences, {len(classes)} classes of differences")
    for key, seen in sorted(classes.items(), key=lambda item: -len(item[1])):
        print(f"{len(seen):5} x {key}   in {' '.join(map(str, seen[:8]))}")
    return 1 if classes else 0


def _parting_of(number: int, converse: Callable[[int, str], Parting | None]) -> Parting | None:
    parting = None
    for turn in TURNS:
        parting = converse(number, turn)
        if parting is None:
            return None
    return parting

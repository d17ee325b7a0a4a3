"""`broker-sim protocol`: the declared wire protocol. Each subcommand has a file of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.commands import (
    protocol_coverage,
    protocol_diff,
    protocol_docs,
    protocol_hostile,
    protocol_list,
    protocol_releases,
    protocol_show,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

SUBCOMMANDS: Final[tuple[Callable[[argparse._SubParsersAction[argparse.ArgumentParser]], None], ...]] = (
    protocol_list.add,
    protocol_show.add,
    protocol_diff.add,
    protocol_releases.add,
    protocol_docs.add,
    protocol_coverage.add,
    protocol_hostile.add,
)
"""What declares each subcommand, in the order in which help lists them."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare `protocol` and its subcommands."""
    parser = commands.add_parser("protocol", help="look up messages, versions and releases of the wire protocol")
    subcommands = parser.add_subparsers(required=True, metavar="SUBCOMMAND")
    for declare in SUBCOMMANDS:
        declare(subcommands)

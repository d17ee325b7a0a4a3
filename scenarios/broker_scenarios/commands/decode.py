"""`broker-sim decode`: what bytes of Kafka's wire protocol mean: hex, frames, captures, JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare `decode`."""
    parser = commands.add_parser("decode", help="say what bytes of the wire protocol mean", description=__doc__)
    parser.add_argument(
        "--jsonl",
        action="store_true",
        help='lines of {"api", "kind", "version", "hex"}, answered with "json" added',
    )
    parser.add_argument("input", nargs="*", metavar="FILE|-|HEX", help="a file, - for stdin, or hex digits")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    return _decode_lines(options)


def _decode_lines(options: argparse.Namespace) -> int:
    from broker_scenarios.commands.result_lines import print_lines
    from protocol_specs.inspection.byte_source import open_source, shown_name
    from protocol_specs.inspection.errors import InputError
    from protocol_specs.inspection.json_lines import decode_lines

    if len(options.input) > 1:
        raise InputError(options.input[1], "", "one file of JSON lines at a time")
    name = options.input[0] if options.input else "-"
    with open_source(name) as file:
        print_lines(decode_lines(file, shown_name(name)))
    return 0

"""`broker-sim encode`: lines of JSON values -> the same lines with the bytes that Kafka would send."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare `encode`."""
    parser = commands.add_parser("encode", help="turn JSON lines of messages into their bytes", description=__doc__)
    parser.add_argument(
        "--jsonl",
        action="store_true",
        help="as `decode` has it; may be left out, because there is no other form",
    )
    parser.add_argument(
        "file",
        nargs="?",
        default="-",
        metavar="FILE",
        help='lines of {"api", "kind", "version", "json"}; "hex" is added to each (stdin)',
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from broker_scenarios.commands.result_lines import print_lines
    from protocol_specs.inspection.byte_source import open_source, shown_name
    from protocol_specs.inspection.json_lines import encode_lines

    with open_source(options.file) as file:
        print_lines(encode_lines(file, shown_name(options.file)))
    return 0

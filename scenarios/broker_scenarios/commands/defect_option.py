"""The option `--defect` of the commands that run scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the option; its value is for `load_scenario`, which refuses unknown names."""
    parser.add_argument(
        "--defect",
        metavar="NAME",
        help="plant this defect in all brokers, or in each client that can have it (docs/reference/defects.md,"
        " client-defects.md)",
    )

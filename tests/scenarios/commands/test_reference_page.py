"""docs/reference/command-line.md is current, and every command and option is on it."""

from __future__ import annotations

import argparse
from pathlib import Path

from broker_scenarios.cli import make_parser
from broker_scenarios.commands.reference_page import reference_page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "command-line.md"


def test_the_page_is_what_the_code_writes_now() -> None:
    assert PAGE.read_text() == reference_page(make_parser()), "run: make docs"


def test_a_command_has_a_section_and_each_argument_a_row() -> None:
    parser = argparse.ArgumentParser(prog="tool", epilog="exit status: 0")
    outer = parser.add_subparsers()
    inner = outer.add_parser("protocol").add_subparsers()
    shown = inner.add_parser("show", help="show a message")
    shown.add_argument("name", metavar="API", help="a | b")
    shown.add_argument(
        "--kind", choices=("request", "response"), default="request", help="which (default: %(default)s)"
    )
    shown.add_argument("-q", "--quiet", action="store_true", help="print less")
    outer.add_parser("bare", help="do nothing")
    page = reference_page(parser)
    assert page.partition("```\n\n")[2] == (
        "## tool protocol show\n\nShow a message.\n\n| argument | meaning |\n|---|---|\n"
        "| `API` | a \\| b |\n"
        "| `--kind {request,response}` | which (default: request) |\n"
        "| `-q`, `--quiet` | print less |\n\n"
        "## tool bare\n\nDo nothing.\n"
    )

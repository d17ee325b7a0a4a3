"""docs/reference/command-line.md, written from the parsers: `python -m broker_scenarios.commands.reference_page`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["reference_page"]

INTRODUCTION: Final = """\
# The command line, option by option

`make docs` writes this page from the code; `broker-sim COMMAND --help` prints the same. Results go to stdout,
everything else to stderr.
"""


def reference_page(parser: argparse.ArgumentParser) -> str:
    """Return the page of a parser and its subcommands in Markdown."""
    lines = [INTRODUCTION, "```text", (parser.epilog or "").rstrip(), "```", ""]
    for command, summary in _commands(parser):
        lines += _section(command, summary)
    return "\n".join(lines)


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """Every command that has no subcommands, with its line in the help of its parent."""
    for action in parser._actions:  # noqa: SLF001 - argparse lists them nowhere else
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            for name, command in action.choices.items():
                inner = list(_commands(command))
                yield from inner or [(command, summaries.get(name, ""))]


def _section(command: argparse.ArgumentParser, summary: str) -> Iterator[str]:
    yield f"## {command.prog}\n"
    yield f"{summary[:1].upper()}{summary[1:].rstrip('.')}.\n"
    rows = [action for action in command._actions if "--help" not in action.option_strings]  # noqa: SLF001
    if rows:
        yield "| argument | meaning |\n|---|---|"
        for action in rows:
            yield f"| {_name(action)} | {_meaning(command, action)} |"
        yield ""


def _name(action: argparse.Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices is not None and action.metavar is None:
        metavar = "{" + ",".join(map(str, action.choices)) + "}"
    if not action.option_strings:
        return f"`{metavar}`"
    value = "" if action.nargs == 0 else f" {metavar}"
    return ", ".join(f"`{option}{value}`" for option in action.option_strings)


def _meaning(command: argparse.ArgumentParser, action: argparse.Action) -> str:
    text = (action.help or "") % (vars(action) | {"prog": command.prog})
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    from broker_scenarios.cli import make_parser

    sys.stdout.write(reference_page(make_parser()))

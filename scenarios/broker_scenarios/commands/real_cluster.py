"""The options of commands that run on a real cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_sim.argument_types import address

if TYPE_CHECKING:
    import argparse

__all__ = ["add_control", "add_targets", "check_attached", "control_of"]

_CONNECT_S: Final = 10


def add_targets(where: argparse._MutuallyExclusiveGroup) -> None:
    """Add `--attach` and `--kafka` to the targets of a command."""
    where.add_argument(
        "--attach", type=address, metavar="HOST:PORT", help="on a running cluster, behind a proxy for the rules"
    )
    where.add_argument(
        "--kafka",
        type=Path,
        metavar="DIR",
        help="on a real Kafka: start the brokers of an unpacked release as the file has them (needs Java)",
    )


def add_control(parser: argparse.ArgumentParser) -> None:
    """Add `--control`."""
    parser.add_argument(
        "--control",
        metavar="COMMAND",
        help="with --attach: how to kill, stop, start, pause and unpause broker {id}: 'docker {action} kafka-{id}'",
    )


def check_attached(options: argparse.Namespace) -> None:
    """Connect to the cluster of `--attach` once. Raises ScenarioError if it is not there."""
    import socket

    from broker_scenarios.errors import ScenarioError
    from sim_runtime.spelling import reason_of

    if options.attach is None:
        return
    host, port = options.attach
    try:
        socket.create_connection((host, port), _CONNECT_S).close()
    except OSError as error:
        raise ScenarioError(f"--attach {host}:{port}: cannot connect: {reason_of(error)}") from None


def control_of(options: argparse.Namespace) -> str | None:
    """Return the command of `--control`. Raises ScenarioError if it cannot be used."""
    from broker_scenarios.errors import ScenarioError

    command: str | None = options.control
    if command is None:
        return None
    if options.attach is None:
        raise ScenarioError("--control is for the processes of the cluster of --attach")
    missing = [part for part in ("{action}", "{id}") if part not in command]
    if missing:
        raise ScenarioError(
            f"--control {command!r}: expected {missing[0]} in it, as in 'docker {{action}} kafka-{{id}}'"
        )
    return command

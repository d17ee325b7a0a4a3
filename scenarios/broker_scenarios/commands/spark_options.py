"""The options `--spark` and `--master` of the commands whose work can be tasks of Spark."""

from __future__ import annotations

import argparse
import re
from os import cpu_count
from typing import Any, Final

__all__ = ["add", "refuse_without_spark", "settings_of"]

_ATTEMPTS: Final = 4
"""How often a local Spark tries a task, as a cluster does; without the number it would try once."""
_LOCAL: Final = re.compile(r"local(?:\[(\d+|\*)\])?")
_MASTER: Final = re.compile(rf"{_LOCAL.pattern}|local\[(?:\d+|\*),\d+\]|local-cluster\[.*\]|spark://.+|yarn|k8s://.+")


def add(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare the options; `what` is the help of `--spark`."""
    parser.add_argument("--spark", action="store_true", help=what)
    parser.add_argument(
        "--master", type=_master, metavar="URL", help="with --spark: the cluster, such as spark://HOST:7077 (local[*])"
    )


def refuse_without_spark(options: argparse.Namespace, *names: str) -> None:
    """Raise ScenarioError if one of these options is given, which need `--spark` beside them."""
    from broker_scenarios.errors import ScenarioError

    for name in () if options.spark else names:
        given = getattr(options, name)
        if given is not None:
            text = ":".join(map(str, given)) if isinstance(given, tuple) else given
            raise ScenarioError(f"--{name} {text} is for Spark: expected --spark beside it")


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments for `start_session`."""
    return {"task_slots": cpu_count() or 1, "attempts": _ATTEMPTS, "master": options.master}


def _master(text: str) -> str:
    """The URL of a Spark; a local one tries its tasks again, as a cluster does."""
    if not _MASTER.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected local[N], spark://HOST:PORT, yarn or k8s://https://HOST:PORT"
        )
    local = _LOCAL.fullmatch(text)
    return text if local is None else f"local[{local[1] or 1},{_ATTEMPTS}]"

"""The options and clients that the commands against a running cluster share: ours, or a real Kafka.

Results go to stdout, errors to stderr in one line. Each wait ends after `--timeout` seconds.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.commands.result_lines import abandon_stdout
from broker_scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from broker_client.admin import Admin
    from broker_client.errors import ProducerError
    from broker_client.records import TopicPartition

__all__ = [
    "REQUEST_TIMEOUT_MS",
    "add_command",
    "client_options",
    "ends_of",
    "error_text",
    "new_admin",
    "partitions_of",
    "timeout_ms_of",
]

BOOTSTRAP_VARIABLE: Final = "BOOTSTRAP_SERVERS"
REQUEST_TIMEOUT_MS: Final = 30_000
_SET_BY_TIMEOUT: Final = ("default.api.timeout.ms", "delivery.timeout.ms", "max.block.ms", "request.timeout.ms")
_TIMEOUT_S: Final = 15.0
_EXIT_DONE: Final = 0
_EXIT_FAILED: Final = 1
_EXIT_BAD_INPUT: Final = 2
EXIT_CODES: Final = """exit status:
  0  everything was done
  1  a broker refused it, or it was not done within --timeout
  2  an option or the input cannot be used; one line on stderr names it
  130  interrupted (SIGINT)
  143  terminated (SIGTERM)
"""


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    run: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    """Add a command with the options of a connection; `run` may raise ProducerError."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[:1].upper()}{summary[1:]}.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    group = parser.add_argument_group("connection")
    group.add_argument(
        "-b",
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        help=f"brokers of the cluster (default: the environment variable {BOOTSTRAP_VARIABLE})",
    )
    group.add_argument(
        "-X",
        dest="config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a configuration of the client, under its name in Java's clients, such as security.protocol=SSL; may be "
        "repeated",
    )
    group.add_argument(
        "-F",
        "--command-config",
        dest="config_file",
        type=Path,
        metavar="FILE",
        help="a file with one KEY=VALUE per line and # before comments; it may have configurations of several clients",
    )
    group.add_argument(
        "--timeout",
        type=_seconds,
        default=_TIMEOUT_S,
        metavar="SECONDS",
        help=f"how long to wait for the cluster (default {_TIMEOUT_S:g})",
    )
    parser.set_defaults(run=_guarded(run))
    return parser


def client_options(options: argparse.Namespace, keys: Collection[str]) -> dict[str, Any]:
    """Return the configurations of -b, -X and -F; of -F those in `keys`, which the client has. Raises ScenarioError."""
    from broker_scenarios.commands.client_configs import given_configs

    configs = given_configs(options, keys)
    if options.bootstrap_server:
        configs["bootstrap.servers"] = options.bootstrap_server
    servers = configs.setdefault("bootstrap.servers", os.environ.get(BOOTSTRAP_VARIABLE, ""))
    if not servers:
        raise ScenarioError(
            "no cluster is named: expected -b HOST:PORT, bootstrap.servers in the file of -F, or "
            f"{BOOTSTRAP_VARIABLE} in the environment"
        )
    return configs


def timeout_ms_of(options: argparse.Namespace) -> int:
    """Return --timeout in ms."""
    return int(options.timeout * 1000)


@contextmanager
def new_admin(options: argparse.Namespace, *, beside_consumer: bool = False) -> Iterator[Admin]:
    """Open an admin client; beside a consumer, -X may have configurations that only consumers have.

    Raises:
        ConfigError: a configuration of -X cannot be used.
        ScenarioError: there is no -b, or -X has no value.
    """
    from broker_client.admin import Admin
    from broker_client.config.consumer_keys import ADMIN_KEYS, CONSUMER_KEYS
    from broker_scenarios.commands.connection_notice import ConnectionNotice

    timeout_ms = timeout_ms_of(options)
    own = {"default.api.timeout.ms": timeout_ms, "request.timeout.ms": min(timeout_ms, REQUEST_TIMEOUT_MS)}
    configs = {**own, **client_options(options, ADMIN_KEYS)}
    if beside_consumer:
        configs = {name: each for name, each in configs.items() if name in ADMIN_KEYS or name not in CONSUMER_KEYS}
    with Admin(**configs) as admin, ConnectionNotice(admin, configs["bootstrap.servers"], options.timeout):
        yield admin


def partitions_of(admin: Admin, topic: str, partition: int | None) -> list[TopicPartition]:
    """Return the partitions of a topic, or one of them.

    Raises:
        ScenarioError: the topic does not have the partition.
        ItemsFailed: the topic does not exist.
    """
    from broker_client.records import TopicPartition

    there = [each.partition for each in admin.describe_topics([topic])[topic].partitions]
    if partition is None:
        return [TopicPartition(topic, number) for number in there]
    if partition not in there:
        raise ScenarioError(f"-p {partition}: topic {topic!r} has the partitions 0 to {len(there) - 1}")
    return [TopicPartition(topic, partition)]


def ends_of(admin: Admin, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the high watermark of each partition."""
    from broker_client.admin import OffsetSpec

    found = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
    return {key: each.offset for key, each in found.items()}


def error_text(error: ProducerError) -> str:
    """Return the text of an error, with the option of the command line that allows a longer wait."""
    from broker_client.errors import ProducerTimeout

    if isinstance(error, ProducerTimeout) and error.option in _SET_BY_TIMEOUT:
        return f"{error.text}; --timeout allows longer"
    return str(error)


def _guarded(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    @wraps(run)
    def guarded(options: argparse.Namespace) -> int:
        # Imported with a call: the parser of every command imports this module.
        from broker_client.errors import ConfigError, ProducerError

        try:
            return run(options)
        except BrokenPipeError:
            abandon_stdout()
            return _EXIT_DONE
        except ConfigError as error:
            sys.stderr.write(f"{error} (-X, -F)\n")
            return _EXIT_BAD_INPUT
        except ProducerError as error:
            sys.stderr.write(f"{error_text(error)}\n")
            return _EXIT_FAILED

    return guarded


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number of seconds above 0")
    return seconds

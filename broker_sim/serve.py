"""Start a cluster on TCP for any Kafka client, and serve until SIGINT or SIGTERM.

BOOTSTRAP_SERVERS=host:port,... is printed on standard output when every broker listens and every topic is there, and
BOOTSTRAP_SERVERS_<NAME>=... for each further listener, CONTROLLER_BOOTSTRAP_SERVERS=... for the controllers' own, which
only KRaft has; the log goes to standard error. Exit status 0 after a signal, 2
for an option that cannot be used.
"""

from __future__ import annotations

import argparse
import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.cluster import Cluster
    from sim_runtime.real_reactor import RealReactor

__all__ = ["add_arguments", "run"]

EXIT_SERVED: Final = 0
EXIT_BAD_INPUT: Final = 2
BROKERS_MAX: Final = 100
CONTROLLERS_MAX: Final = 9
CLOSE_TIMEOUT_MS: Final = 5_000
DEFAULT_RELEASE: Final = "4.3.1"
JOURNAL_EVENTS_KEPT: Final = 10_000
"""How many events stay in memory when a file keeps all."""
YOUNG_OBJECTS: Final = 20_000
"""How many new objects start a collection: a log keeps most objects of a request, so collections free little."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `broker-sim serve`."""
    parser.add_argument(
        "--brokers", type=_brokers, default=3, metavar="N", help="how many brokers, ids 1 to N (default 3)"
    )
    parser.add_argument(
        "--controllers",
        type=_controllers,
        default=1,
        metavar="N",
        help="how many controllers, ids 3000, 3001, ..., of which a majority decides; one never fails (default 1)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to bind and to advertise (default 127.0.0.1)")
    parser.add_argument(
        "--port",
        type=_port,
        default=0,
        help="broker 1 listens on it, broker 2 on the next one, ...; 0 lets the system choose (default); "
        "more listeners: -o listeners=...",
    )
    parser.add_argument(
        "--controller-port",
        type=_port,
        default=0,
        help="the first controller listens on it, the second on the next one, ...; 0 lets the system choose (default); "
        "without --controllers every broker is a controller too",
    )
    parser.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="NAME:PARTITIONS:REPLICATION",
        help="a topic that exists from the start; may be repeated",
    )
    parser.add_argument(
        "-o",
        dest="config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a broker configuration, of one broker as ID:KEY=VALUE; may be repeated",
    )
    parser.add_argument(
        "--release",
        default=DEFAULT_RELEASE,
        help=f"the Kafka release to emulate, from 0.8.0 on, such as 0.10.2, 2.8 or 3.7 (default {DEFAULT_RELEASE})",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random streams: ids, elections, ... (default 0)")
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="FILE.jsonl",
        help="write the events of the cluster to this file, for `broker-sim trace` (slower)",
    )
    parser.add_argument(
        "--data-dir", metavar="DIR", help="keep logs and metadata there for the next start; default: in memory"
    )
    parser.add_argument("--verbose", action="store_true", help="log more than warnings")


def run(args: argparse.Namespace) -> int:
    """Serve until a signal comes. Returns the exit status."""
    # Kept out of the module: `broker-sim --help` needs none of it.
    from twisted.internet.error import CannotListenError

    from broker_sim.errors import BrokerSimError
    from protocol_specs.errors import ProtocolError
    from sim_runtime.errors import SimRuntimeError

    _log_to_stderr(verbose=args.verbose)
    reactor = _reactor()
    gc.disable()  # a start makes no garbage
    try:
        cluster = _cluster(args, reactor)
        if args.journal is not None:
            _keep_journal(args.journal, cluster, reactor)
        cluster.start()
    except (BrokerSimError, ProtocolError, SimRuntimeError) as error:
        return _refuse(str(error))
    except CannotListenError as error:
        options = "--host, --port, --controller-port, -o listeners"
        return _refuse(f"cannot listen on {error.interface}:{error.port} ({options}): {error.socketError}")
    finally:
        gc.enable()
    # Not before signals are handled: the reader of the line may send one at once.
    reactor.callWhenRunning(print, _bootstrap_lines(cluster), flush=True)
    reactor.callLater(0, _load_apis)
    reactor.addSystemEventTrigger("before", "shutdown", _close, cluster, reactor)
    reactor.run()
    return EXIT_SERVED


def _reactor() -> RealReactor:
    """Return a reactor without Twisted's own TLS, whose import of OpenSSL slows every start; listeners import it."""
    from sim_runtime.real_reactor import new_reactor

    if "OpenSSL" in sys.modules:
        return new_reactor(spins=True)
    sys.modules["OpenSSL"] = None  # type: ignore[assignment]  # so it cannot be imported
    try:
        return new_reactor(spins=True)
    finally:
        del sys.modules["OpenSSL"]


def _cluster(args: argparse.Namespace, reactor: RealReactor) -> Cluster:
    from broker_sim.cluster import Cluster, TopicSpec
    from broker_sim.control.journal import Detail
    from sim_runtime.random_streams import RandomStreams

    ports = [args.port + index if args.port else 0 for index in range(args.brokers)]
    controllers = args.brokers if args.controllers == 1 else args.controllers
    first = args.controller_port
    return Cluster(
        reactor=reactor,
        brokers=args.brokers,
        controllers=args.controllers,
        topics=[TopicSpec.parse(text) for text in args.topic],
        config=_configs(args.config),
        streams=RandomStreams(args.seed),
        release=args.release,
        host=args.host,
        ports=ports,
        controller_ports=[first + index for index in range(controllers)] if first else None,
        data_dir=None if args.data_dir is None else str(Path(args.data_dir).absolute()),
        journal_detail=Detail.CLUSTER if args.journal is None else Detail.FULL,
        journal_limit_events=None if args.journal is None else JOURNAL_EVENTS_KEPT,
    )


def _keep_journal(path: Path, cluster: Cluster, reactor: RealReactor) -> None:
    from broker_sim.control.journal_file import JournalWriter

    writer = JournalWriter(path, cluster.journal)
    reactor.addSystemEventTrigger("after", "shutdown", writer.close)


def _bootstrap_lines(cluster: Cluster) -> str:
    """Return BOOTSTRAP_SERVERS of the inter-broker listener, one line per further listener and one of controllers."""
    lines = [f"BOOTSTRAP_SERVERS={cluster.bootstrap_servers}"]
    first = cluster.brokers[1].listeners
    others = [name for name in first.endpoints if name not in {first.inter_broker, first.control_plane}]
    lines += [f"BOOTSTRAP_SERVERS_{name}={cluster.bootstrap_servers_of(name)}" for name in others]
    if cluster.controller_bootstrap_servers:
        lines.append(f"CONTROLLER_BOOTSTRAP_SERVERS={cluster.controller_bootstrap_servers}")
    return "\n".join(lines)


def _configs(pairs: Sequence[str]) -> dict[str, str]:
    from broker_sim.errors import ConfigError

    configs = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ConfigError(f"-o {pair!r} is not KEY=VALUE, as in -o min.insync.replicas=2")
        configs[key.strip()] = value.strip()
    return configs


def _close(cluster: Cluster, reactor: RealReactor) -> object:
    """Close before the reactor stops, within CLOSE_TIMEOUT_MS."""
    from sim_runtime.deadlines import deadline

    closing = deadline(
        reactor, cluster.close(), CLOSE_TIMEOUT_MS, awaited="the cluster to close", option="CLOSE_TIMEOUT_MS"
    )
    return closing.addErrback(lambda failure: print(failure.getErrorMessage(), file=sys.stderr))  # noqa: T201


def _load_apis() -> None:
    """Import the API files before the first request, and tune memory for a process that only serves.

    The garbage collector skips permanent objects, and the allocator keeps the blocks of large requests.
    """
    from broker_sim.allocator import reuse_large_blocks
    from broker_sim.apis.kafka_apis import HANDLERS

    reuse_large_blocks()
    for api_key in HANDLERS.served:
        HANDLERS.handler_of(api_key)
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])


def _log_to_stderr(*, verbose: bool) -> None:
    from twisted.logger import (
        FilteringLogObserver,
        LogLevel,
        LogLevelFilterPredicate,
        globalLogBeginner,
        textFileLogObserver,
    )

    level = LogLevel.info if verbose else LogLevel.warn
    observer = FilteringLogObserver(textFileLogObserver(sys.stderr), [LogLevelFilterPredicate(defaultLogLevel=level)])
    globalLogBeginner.beginLoggingTo([observer], redirectStandardIO=False, discardBuffer=True)


def _refuse(problem: str) -> int:
    print(problem, file=sys.stderr)  # noqa: T201 - the one line that names the problem
    return EXIT_BAD_INPUT


def _brokers(text: str) -> int:
    return _whole(text, 1, BROKERS_MAX)


def _controllers(text: str) -> int:
    return _whole(text, 1, CONTROLLERS_MAX)


def _port(text: str) -> int:
    return _whole(text, 0, 65_535)


def _whole(text: str, lowest: int, highest: int) -> int:
    if text.isdecimal() and lowest <= int(text) <= highest:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {lowest} to {highest}")

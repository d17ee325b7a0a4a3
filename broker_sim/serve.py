"""Start a cluster on TCP for any Kafka client, and serve until SIGINT or SIGTERM.

BOOTSTRAP_SERVERS=host:port,... is printed on standard output when every broker listens and every topic is there, and
BOOTSTRAP_SERVERS_<NAME>=... for each further listener, CONTROLLER_BOOTSTRAP_SERVERS=... for the controllers' own, which
only KRaft has, and CONTROL_URL=... with --control; the log goes to standard error. Exit status 0 after a signal, 2 for
an option that cannot be used.
"""

from __future__ import annotations

import argparse
import gc
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sim_runtime.spelling import reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.internet.defer import Deferred

    from broker_sim.cluster import Cluster
    from broker_sim.faults.engine import RuleReport
    from broker_sim.faults.rule import Rule
    from broker_sim.faults.rule_file import RuleFile
    from broker_sim.http_control.clusters import Clusters
    from broker_sim.http_control.server import ControlServer
    from sim_runtime.real_reactor import RealReactor

__all__ = ["add_arguments", "control_server", "run"]

EXIT_SERVED: Final = 0
EXIT_BAD_INPUT: Final = 2
BROKERS_MAX: Final = 100
CONTROLLERS_MAX: Final = 9
CLOSE_TIMEOUT_MS: Final = 5_000
DEFAULT_RELEASE: Final = "4.3.1"
JOURNAL_EVENTS_KEPT: Final = 10_000
"""How many events stay in memory when a file keeps all."""
CONTROLLED_EVENTS_KEPT: Final = 100_000
"""How many events HTTP can query."""
WRITES_FILES: Final = "writes to files (--data-dir, --journal) until the process ends"
YOUNG_OBJECTS: Final = 20_000
"""How many new objects start a collection: a log keeps most objects of a request, so collections free little."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `broker-sim serve`."""
    _add_node_arguments(parser)
    parser.add_argument("--host", default="127.0.0.1", help="the address to bind and to advertise (default 127.0.0.1)")
    parser.add_argument(
        "--port",
        type=_port,
        default=0,
        help="the first broker listens on it, the second on the next one, ...; 0 lets the system choose (default); "
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
        "--quick",
        action="store_true",
        help="without two waits of Kafka's defaults, as the pytest fixtures: a killed broker is noticed after 1 s, not "
        "after 9 s, and a new group does not wait 3 s for members",
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
    _add_scram_argument(parser)
    _add_control_arguments(parser)
    parser.add_argument("--verbose", action="store_true", help="log more than warnings")


def _add_node_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--brokers", type=_brokers, default=3, metavar="N", help="how many brokers, ids from 1 on (default 3)"
    )
    parser.add_argument(
        "--first-broker-id",
        type=int,
        default=1,
        metavar="ID",
        help="the id of the first broker (default 1); the second one has the next id, ...",
    )
    parser.add_argument(
        "--controllers",
        type=_controllers,
        default=1,
        metavar="N",
        help="how many controllers, ids 3000, 3001, ..., of which a majority decides; one never fails (default 1)",
    )


def _add_scram_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--add-scram",
        action="append",
        default=[],
        metavar="MECHANISM=[name=USER,password=TEXT]",
        help="a user of a new cluster, as with `kafka-storage format`, such as "
        "'SCRAM-SHA-256=[name=alice,password=secret]'; may be repeated",
    )


def _add_control_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rules",
        type=Path,
        metavar="FILE",
        help="a YAML file with a list of fault rules, or by name; the report of each goes to standard error at the end",
    )
    parser.add_argument(
        "--control",
        type=_control_address,
        metavar="HOST:PORT",
        help="control the cluster over HTTP there; CONTROL_URL= is printed; port 0 lets the system choose (slower: the "
        "journal keeps the traffic)",
    )
    parser.add_argument(
        "--control-token-file",
        type=Path,
        metavar="FILE",
        help="the token that each HTTP request must have; without it --control listens on loopback alone",
    )


def run(args: argparse.Namespace) -> int:
    """Serve until a signal comes. Returns the exit status."""
    # Kept out of the module: `broker-sim --help` needs none of it.
    from twisted.internet.error import CannotListenError

    from broker_sim.errors import BrokerSimError
    from protocol_specs.errors import ProtocolError
    from sim_runtime.errors import SimRuntimeError
    from sim_runtime.real_reactor import stop_at_signals

    _log_to_stderr(verbose=args.verbose)
    reactor = _reactor()
    gc.disable()  # a start makes no garbage
    try:
        rules = None if args.rules is None else _rules(args.rules)
        cluster = _cluster(args, reactor, *_ports(args))
        if args.journal is not None:
            _keep_journal(args.journal, cluster, reactor)
        cluster.start()
        if rules is not None:
            rules.add_to(partial(_add_rule, cluster))
        clusters = None if args.control is None else _hosted(args, reactor, cluster)
        control = None if clusters is None else control_server(args.control, args.control_token_file, clusters)
    except (BrokerSimError, ProtocolError, SimRuntimeError) as error:
        return _refuse(str(error))
    except CannotListenError as error:
        options = "--host, --port, --controller-port, --control, -o listeners"
        return _refuse(f"cannot listen on {error.interface}:{error.port} ({options}): {reason_of(error.socketError)}")
    finally:
        gc.enable()
    # Not before signals are handled: the reader of the line may send one at once.
    lines = _bootstrap_lines(cluster) + ("" if control is None else f"\nCONTROL_URL={control.url}")
    stop_at_signals(reactor)
    reactor.callWhenRunning(print, lines, flush=True)
    reactor.callLater(0, _load_apis)
    close = cluster.close if clusters is None else clusters.close_all
    reports: list[RuleReport] = []
    # Before the clusters close, which ends every rule; HTTP may have added some, and replaced the cluster.
    reactor.addSystemEventTrigger("before", "shutdown", lambda: reports.extend(_rule_reports(cluster, clusters)))
    reactor.addSystemEventTrigger("before", "shutdown", _close, close, reactor)
    reactor.run()
    for report in reports:
        print(report, file=sys.stderr)  # noqa: T201
    return EXIT_SERVED


def _rules(path: Path) -> RuleFile:
    # Kept out of starts without rules: every action comes along.
    from broker_sim.faults.rule_file import read_rule_file

    return read_rule_file(path)


def _add_rule(cluster: Cluster, rule: Rule) -> None:
    from broker_sim.faults.rule_checks import check_load

    check_load(rule, cluster.faults.progress)
    cluster.faults.add(rule)


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


def _ports(args: argparse.Namespace) -> tuple[list[int], list[int] | None]:
    """Return the ports of the brokers and of the controllers, 0 where the system chooses."""
    controllers = args.brokers if args.controllers == 1 else args.controllers
    first = args.controller_port
    ports = [args.port + index if args.port else 0 for index in range(args.brokers)]
    return ports, [first + index for index in range(controllers)] if first else None


def _cluster(
    args: argparse.Namespace, reactor: RealReactor, ports: Sequence[int], controller_ports: Sequence[int] | None
) -> Cluster:
    from broker_sim.cluster import Cluster, TopicSpec
    from broker_sim.control.journal import Detail
    from broker_sim.quick_settings import quick_settings
    from sim_runtime.random_streams import RandomStreams

    quick = quick_settings(args.release, failover=args.quick, groups=args.quick)
    keeps_traffic = args.journal is not None or args.control is not None
    limit_events = JOURNAL_EVENTS_KEPT if args.control is None else CONTROLLED_EVENTS_KEPT
    cluster = Cluster(
        reactor=reactor,
        brokers=args.brokers,
        first_broker_id=args.first_broker_id,
        controllers=args.controllers,
        topics=[TopicSpec.parse(text) for text in args.topic],
        config={**quick, **_configs(args.config)},
        streams=RandomStreams(args.seed),
        release=args.release,
        host=args.host,
        ports=ports,
        controller_ports=controller_ports,
        data_dir=None if args.data_dir is None else str(Path(args.data_dir).absolute()),
        journal_detail=Detail.FULL if keeps_traffic else Detail.CLUSTER,
        journal_limit_events=limit_events if keeps_traffic else None,
    )
    for argument in args.add_scram:
        cluster.storage_format.add_scram(argument, cluster.streams.stream("scram salts"))
    if args.quick:
        cluster.set_up_early()
    return cluster


def _hosted(args: argparse.Namespace, reactor: RealReactor, cluster: Cluster) -> Clusters:
    """Return the clusters that HTTP controls: the one that runs, as `default`."""
    from broker_sim.http_control.clusters import DEFAULT_NAME, Clusters, HostedCluster

    clusters = Clusters(reactor)
    files = [args.data_dir, args.journal]
    clusters.host(
        HostedCluster(
            name=DEFAULT_NAME,
            make=partial(_cluster, args, reactor),
            cluster=cluster,
            kept=WRITES_FILES if any(each is not None for each in files) else None,
        )
    )
    return clusters


def control_server(address: tuple[str, int], token_file: Path | None, clusters: Clusters) -> ControlServer:
    """Listen for HTTP control (`--control`, `--control-token-file`). Raises BrokerSimError for a file or an address."""
    from broker_sim.http_control.guard import Guard
    from broker_sim.http_control.server import ControlServer

    host, port = address
    return ControlServer(clusters, Guard(host, _token(token_file)), port=port)


def _token(path: Path | None) -> str | None:
    if path is None:
        return None
    from broker_sim.errors import BrokerSimError

    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BrokerSimError(f"cannot read {path} (--control-token-file): {reason_of(error)}") from None


def _keep_journal(path: Path, cluster: Cluster, reactor: RealReactor) -> None:
    from broker_sim.control.journal_file import JournalWriter

    writer = JournalWriter(path, cluster.journal)
    reactor.addSystemEventTrigger("after", "shutdown", writer.close)


def _rule_reports(cluster: Cluster, clusters: Clusters | None) -> list[RuleReport]:
    served = [cluster] if clusters is None else [hosted.cluster for hosted in clusters]
    return [report for each in served for report in each.faults.reports()]


def _bootstrap_lines(cluster: Cluster) -> str:
    """Return BOOTSTRAP_SERVERS of the inter-broker listener, one line per further listener and one of controllers."""
    lines = [f"BOOTSTRAP_SERVERS={cluster.bootstrap_servers}"]
    first = next(iter(cluster.brokers.values())).listeners
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


def _close(close: Callable[[], Deferred[Any]], reactor: RealReactor) -> object:
    """Close before the reactor stops, within CLOSE_TIMEOUT_MS."""
    from sim_runtime.deadlines import deadline

    closing = deadline(reactor, close(), CLOSE_TIMEOUT_MS, awaited="the cluster to close", option="CLOSE_TIMEOUT_MS")
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


def _control_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host:
        raise argparse.ArgumentTypeError(f"{text!r}: expected HOST:PORT, such as 127.0.0.1:0")
    return host.strip("[]"), _port(port)


def _whole(text: str, lowest: int, highest: int) -> int:
    if text.isdecimal() and lowest <= int(text) <= highest:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {lowest} to {highest}")

"""Run a proxy in front of a Kafka cluster, with fault rules on its requests, responses and connections.

BOOTSTRAP_SERVERS=host:port,... is printed on standard output when the proxy listens; clients connect there instead of
to the cluster. The report of each rule goes to standard error at the end. Exit status 0 after a signal, 2 for an option
that cannot be used.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_sim.argument_types import address

if TYPE_CHECKING:
    import argparse

    from twisted.python.failure import Failure

    from broker_sim.faults.rule_file import RuleFile
    from broker_sim.wire_proxy.wire_proxy import WireProxy

__all__ = ["add_arguments", "run"]

EXIT_SERVED: Final = 0
EXIT_BAD_INPUT: Final = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `broker-sim proxy`."""
    parser.add_argument(
        "--upstream", required=True, type=address, metavar="HOST:PORT", help="a broker of the cluster (PLAINTEXT)"
    )
    parser.add_argument("--rules", type=Path, metavar="FILE", help="a YAML file with a list of fault rules, or by name")
    parser.add_argument("--host", default="127.0.0.1", help="the address to bind (default 127.0.0.1)")
    parser.add_argument("--seed", type=int, default=0, help="of the rules' random streams (default 0)")


def run(args: argparse.Namespace) -> int:
    """Proxy until a signal comes. Returns the exit status."""
    from broker_sim.errors import BrokerSimError
    from broker_sim.faults.rule_file import read_rule_file
    from broker_sim.wire_proxy.wire_proxy import WireProxy
    from sim_runtime.random_streams import RandomStreams
    from sim_runtime.real_reactor import new_reactor, stop_at_signals

    try:
        rules = None if args.rules is None else read_rule_file(args.rules)
    except BrokerSimError as error:
        return _refuse(f"--rules: {error}")
    reactor = new_reactor()
    proxy = WireProxy(reactor=reactor, streams=RandomStreams(args.seed), upstream=args.upstream, host=args.host)
    failed: list[str] = []

    def refuse(failure: Failure) -> None:
        failed.append(failure.getErrorMessage())
        reactor.stop()

    stop_at_signals(reactor)
    reactor.callWhenRunning(lambda: proxy.start().addCallback(_began, proxy, rules).addErrback(refuse))
    reactor.addSystemEventTrigger("before", "shutdown", proxy.close)
    reactor.run()
    if failed:
        return _refuse(failed[0])
    for report in proxy.faults.reports():
        sys.stderr.write(f"{report}\n")
    return EXIT_SERVED


def _began(_: None, proxy: WireProxy, rules: RuleFile | None) -> None:
    if rules is not None:
        rules.add_to(proxy.add)
    sys.stdout.write(f"BOOTSTRAP_SERVERS={proxy.bootstrap_servers}\n")
    sys.stdout.flush()


def _refuse(problem: str) -> int:
    sys.stderr.write(f"{problem}\n")
    return EXIT_BAD_INPUT

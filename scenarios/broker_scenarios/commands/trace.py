"""`broker-sim trace`: follow one request through the house, as a timeline in text and HTML, from the journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_scenarios.commands.argument_types import positive, seed, whole

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from broker_scenarios.request_trace import TracedRequest
    from broker_sim.control.events import Event

JOURNAL_SUFFIX: Final = ".jsonl"
LISTED: Final = 20


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "trace",
        help="follow one request through a broker",
        description="Follow one request through a broker: Acceptor, Processor, queue, handler, append, purgatory, "
        "answer. Without --request it is the one that took longest.",
    )
    parser.add_argument(
        "source",
        type=Path,
        metavar="FILE",
        help="a scenario (YAML), which is run on virtual time, or a journal (.jsonl), as `serve --journal` writes it",
    )
    parser.add_argument("--request", type=positive, metavar="N", help="the request, by its number in --list")
    parser.add_argument("--api", help="only requests of this API")
    parser.add_argument("--broker", type=whole, metavar="ID", help="only requests to this broker")
    parser.add_argument("--between-brokers", action="store_true", help="requests of brokers, not of clients")
    parser.add_argument(
        "--list", type=positive, nargs="?", const=LISTED, metavar="N", help=f"list the N slowest requests ({LISTED})"
    )
    parser.add_argument("--seed", type=seed, help="of a scenario's run (the file's when not given)")
    parser.add_argument("--records", type=positive, help="send this many records instead of the scenario's")
    parser.add_argument("--html", type=Path, metavar="PATH", help="write the timeline as a page, too")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print a trace, or the list of requests; raises ScenarioError where there is none such."""
    from broker_scenarios.commands.result_lines import print_lines
    from broker_scenarios.request_trace import requests_of, trace_request
    from broker_scenarios.request_trace_text import request_list, trace_lines

    events = _events(options)
    if options.list is not None:
        slowest = sorted(_chosen(requests_of(events), options), key=_slowness)
        print_lines(request_list(slowest[: options.list], events[0][1].time_us))
        return 0
    number = options.request
    if number is None:
        number = min(_chosen(requests_of(events), options), key=_slowness).number
    trace = trace_request(events, number)
    print_lines(trace_lines(trace))
    if options.html is not None:
        from broker_scenarios.request_trace_html import write_trace

        print_lines(["", f"page: {write_trace(options.html, trace)}"])
    return 0


def _events(options: argparse.Namespace) -> Sequence[tuple[int, Event]]:
    if options.source.suffix == JOURNAL_SUFFIX:
        from broker_sim.control.journal_file import read_journal

        return list(read_journal(options.source))
    from broker_scenarios.scenario import load_scenario
    from broker_scenarios.virtual_run import VirtualRun

    scenario = load_scenario(options.source)
    if options.records is not None:
        scenario = scenario.with_records(options.records)
    run = VirtualRun(scenario, scenario.seed if options.seed is None else options.seed)
    run.run(None)
    return list(run.cluster.journal.numbered())


def _chosen(requests: Sequence[TracedRequest], options: argparse.Namespace) -> list[TracedRequest]:
    """The requests that the options allow; ScenarioError when there are none, naming what there is."""
    from broker_scenarios.errors import ScenarioError
    from broker_sim.errors import nearest

    found = [each for each in requests if each.between_brokers is options.between_brokers]
    apis = dict.fromkeys(each.request.api for each in found)
    if options.api is not None:
        found = [each for each in found if each.request.api == options.api]
        if not found:
            there = f" (there are {', '.join(apis)})" if apis else ""
            raise ScenarioError(f"no request is {options.api!r} (--api){nearest(options.api, apis)}{there}")
    if options.broker is not None:
        found = [each for each in found if each.request.broker_id == options.broker]
    if not found:
        whose = "between brokers" if options.between_brokers else "of clients"
        where = f" to broker {options.broker} (--broker)" if options.broker is not None else ""
        raise ScenarioError(f"{options.source} has no requests {whose}{where}")
    return found


def _slowness(traced: TracedRequest) -> tuple[int, int]:
    return -traced.total_us, traced.number

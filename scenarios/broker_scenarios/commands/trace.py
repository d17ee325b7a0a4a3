"""`broker-sim trace`: follow a request, a batch, a record, a partition, a group or a transactional id, as a timeline in
text and HTML.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_scenarios.commands.result_options import OutputFile
from broker_sim.argument_types import positive, seed, whole

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from broker_scenarios.tracing.batch_lives import BatchLife
    from broker_scenarios.tracing.request_trace import TracedRequest
    from broker_scenarios.tracing.sources import TraceSource
    from broker_scenarios.tracing.timeline import Timeline

LISTED: Final = 20
PARTITION_BATCHES: Final = 40
SLOWEST: Final = ""
"""--batch without a value."""
ALL_IDS: Final = ""
"""--group or --transaction without a value."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "trace",
        help="follow a request, a batch, a record, a group or a transaction",
        description="Follow one request through a broker (Acceptor, Processor, queue, handler, append, purgatory, "
        "response), or one batch or record through the producer as well (RecordAccumulator, BufferPool, Sender, "
        "Selector, in flight, acknowledged), or the life of one group (members, rebalances, offsets) or of one "
        "transactional id (producers, states, markers, last stable offset). Without a choice it is the request that "
        "took longest.",
    )
    parser.add_argument(
        "source",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="a scenario (YAML), which is run on virtual time; or a journal, as `serve --journal` writes it, and a "
        "producer's trace, as TraceFile writes it (.jsonl)",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--request", type=positive, metavar="N", help="the request, by its number in --list")
    what.add_argument(
        "--batch",
        nargs="?",
        const=SLOWEST,
        metavar="BATCH",
        help="the batch of a producer, NUMBER or PRODUCER:NUMBER, as --list prints it (without a value the slowest)",
    )
    what.add_argument("--record", metavar="T-P@OFFSET", help="the record at that offset, as orders-2@61")
    what.add_argument("--partition", metavar="T-P", help="the batches of a partition, as orders-2")
    what.add_argument(
        "--group",
        nargs="?",
        const=ALL_IDS,
        metavar="ID",
        help="the group of that id: who joined, why it rebalanced, who was refused (without an id a list of groups)",
    )
    what.add_argument(
        "--transaction",
        nargs="?",
        const=ALL_IDS,
        metavar="ID",
        help="the transactional id: who fenced whom, which partition waits for its marker, what holds back the last "
        "stable offset (without an id a list of transactional ids)",
    )
    parser.add_argument("--api", help="only requests of this API")
    parser.add_argument("--broker", type=whole, metavar="ID", help="only requests to this broker")
    parser.add_argument("--between-brokers", action="store_true", help="requests of brokers, not of clients")
    parser.add_argument("--producer", metavar="CLIENT_ID", help="only batches of this producer")
    parser.add_argument(
        "--list",
        type=positive,
        nargs="?",
        const=LISTED,
        metavar="N",
        help=f"list the N slowest requests ({LISTED}); with --batch or --partition, batches",
    )
    parser.add_argument(
        "--limit",
        type=positive,
        default=PARTITION_BATCHES,
        metavar="N",
        help=f"show at most N batches of a partition ({PARTITION_BATCHES})",
    )
    parser.add_argument("--seed", type=seed, help="of a scenario's run (the file's when not given)")
    parser.add_argument("--records", type=positive, help="send this many records instead of the scenario's")
    parser.add_argument("--html", action=OutputFile, metavar="PATH", help="write the timeline as a page, too")
    parser.add_argument("--svg", action=OutputFile, metavar="PATH", help="write its drawing alone, too")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print a trace or a list. Raises ScenarioError if nothing fits the options."""
    from broker_scenarios.commands.result_lines import print_lines
    from broker_scenarios.tracing.timeline_text import timeline_lines

    wants_batches = _wants_batches(options)
    source = _source(options, with_batches=wants_batches)
    about_batches = wants_batches or (options.request is None and not source.journal and bool(source.batches))
    if options.group is not None:
        chosen = _of_groups(source, options)
    elif options.transaction is not None:
        chosen = _of_transactions(source, options)
    else:
        chosen = _of_batches(source, options) if about_batches else _of_requests(source, options)
    if isinstance(chosen, list):
        _refuse_drawings(options)
        print_lines(chosen)
        return 0
    print_lines(timeline_lines(chosen))
    if options.html is not None:
        from broker_scenarios.tracing.timeline_html import write_timeline

        print_lines(["", f"page: {write_timeline(options.html, chosen)}"])
    if options.svg is not None:
        from broker_scenarios.tracing.timeline_svg import write_svg

        print_lines(["", f"drawing: {write_svg(options.svg, chosen)}"])
    return 0


def _refuse_drawings(options: argparse.Namespace) -> None:
    """Raise ScenarioError for a page or a drawing of a list."""
    from broker_scenarios.errors import ScenarioError

    for name in ("html", "svg"):
        if (path := getattr(options, name)) is not None:
            raise ScenarioError(f"--{name} {path}: a list has no timeline; choose one entry of it, by its id")


def _wants_batches(options: argparse.Namespace) -> bool:
    from broker_scenarios.errors import ScenarioError

    of_batches = {
        "--batch": options.batch is not None,
        "--record": options.record is not None,
        "--partition": options.partition is not None,
        "--producer": options.producer is not None,
    }
    batches = [name for name, given in of_batches.items() if given]
    of_requests = {
        "--request": options.request is not None,
        "--api": options.api is not None,
        "--broker": options.broker is not None,
        "--between-brokers": options.between_brokers,
    }
    requests = [name for name, given in of_requests.items() if given]
    if batches and requests:
        raise ScenarioError(f"{requests[0]} chooses among requests, {batches[0]} among batches: give one of them")
    return bool(batches)


def _source(options: argparse.Namespace, *, with_batches: bool) -> TraceSource:
    from broker_scenarios.errors import ScenarioError
    from broker_scenarios.tracing.sources import FILE_SUFFIX, has_events, read_files, run_scenario

    scenarios = [path for path in options.source if not has_events(path)]
    if not scenarios:
        return read_files(options.source)
    if len(options.source) > 1:
        raise ScenarioError(
            f"{scenarios[0]} is a scenario, which is traced alone: journals and traces end in {FILE_SUFFIX}"
        )
    from broker_scenarios.language.scenario import load_scenario

    scenario = load_scenario(scenarios[0])
    if options.records is not None:
        scenario = scenario.with_records(options.records)
    run_seed = scenario.seed if options.seed is None else options.seed
    return run_scenario(scenario, run_seed, with_batches=with_batches)


def _of_requests(source: TraceSource, options: argparse.Namespace) -> Timeline | list[str]:
    from broker_scenarios.tracing.lists import request_list
    from broker_scenarios.tracing.request_trace import requests_of, trace_request

    if options.list is not None:
        slowest = sorted(_chosen(requests_of(source.journal), options), key=_slowness)
        return request_list(slowest[: options.list], source.journal[0][1].time_us)
    number = options.request
    if number is None:
        number = min(_chosen(requests_of(source.journal), options), key=_slowness).number
    return trace_request(source.journal, number)


def _of_groups(source: TraceSource, options: argparse.Namespace) -> Timeline | list[str]:
    from broker_scenarios.tracing.group_trace import group_list, trace_group

    if options.group == ALL_IDS:
        return group_list(source.journal)
    return trace_group(source.journal, options.group)


def _of_transactions(source: TraceSource, options: argparse.Namespace) -> Timeline | list[str]:
    from broker_scenarios.tracing.transaction_trace import trace_transaction, transaction_list

    if options.transaction == ALL_IDS:
        return transaction_list(source.journal)
    return trace_transaction(source.journal, options.transaction)


def _of_batches(source: TraceSource, options: argparse.Namespace) -> Timeline | list[str]:
    from broker_scenarios.errors import ScenarioError
    from broker_scenarios.tracing import batch_lives
    from broker_scenarios.tracing.batch_trace import trace_batch
    from broker_scenarios.tracing.broker_side import BrokerSide
    from broker_scenarios.tracing.lists import batch_list
    from broker_scenarios.tracing.partition_trace import trace_partition

    brokers = BrokerSide(source.journal)
    lives = batch_lives.lives_of(source.batches, brokers)
    if not lives:
        raise ScenarioError(
            f"{_names(options.source)}: no batches of a producer; Producer(trace=TraceFile(...)) writes them"
        )
    lives = batch_lives.batches_of(lives, options.producer)
    if options.partition is not None:
        lives = batch_lives.partition_named(lives, options.partition)
    if options.list is not None:
        return batch_list(sorted(lives, key=_batch_slowness)[: options.list], source.start_us)
    if options.partition is not None:
        return trace_partition(lives, brokers, options.limit)
    if options.record is not None:
        life, index = batch_lives.record_named(lives, options.record)
        return trace_batch(life, brokers, index)
    return trace_batch(_batch(lives, options.batch), brokers)


def _batch(lives: Sequence[BatchLife], text: str | None) -> BatchLife:
    from broker_scenarios.tracing.batch_lives import batch_named

    return batch_named(lives, text) if text else min(lives, key=_batch_slowness)


def _chosen(requests: Sequence[TracedRequest], options: argparse.Namespace) -> list[TracedRequest]:
    """Return the requests that fit the options. Raises ScenarioError with the existing names if there are none."""
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
        raise ScenarioError(f"{_names(options.source)} has no requests {whose}{where}")
    return found


def _names(paths: Iterable[Path]) -> str:
    return " and ".join(map(str, paths))


def _slowness(traced: TracedRequest) -> tuple[int, int]:
    return -traced.total_us, traced.number


def _batch_slowness(life: BatchLife) -> tuple[int, int]:
    return -life.took_us, life.start_us

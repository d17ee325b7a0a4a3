"""`broker-sim catalog`: list, search and run the catalogue of anomalies."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from broker_scenarios.commands import real_cluster
from broker_scenarios.commands.result_options import OutputFile
from broker_sim.argument_types import seed

if TYPE_CHECKING:
    import argparse
    from contextlib import AbstractContextManager

    from broker_scenarios.catalog import PairResult
    from broker_scenarios.errors import ScenarioError
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.run_record import RunRecord
    from broker_scenarios.targets.catalog_targets import CatalogTarget

__all__ = ["add"]


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "catalog",
        help="list, search and run the catalogue of anomalies",
        description="List, search and run the catalogue of anomalies: pairs of runs, with an anomaly and without it.",
    )
    actions: argparse._SubParsersAction[argparse.ArgumentParser] = parser.add_subparsers(
        required=True, metavar="ACTION"
    )
    listing = actions.add_parser("list", help="list the anomalies, or those whose texts have every word")
    listing.add_argument("words", nargs="*", metavar="WORD", help="a word of the symptom, such as lost or fenced")
    listing.set_defaults(run=_list)
    running = actions.add_parser("run", help="run pairs, all of them or the named ones")
    running.add_argument("names", nargs="*", metavar="NAME", help="the name of an anomaly")
    where = running.add_mutually_exclusive_group()
    where.add_argument("--local", action="store_true", help="on TCP instead of virtual time")
    real_cluster.add_targets(where)
    real_cluster.add_control(running)
    running.add_argument("--seed", type=seed, help="the seed (default: the seed of each file)")
    running.add_argument("--json", action=OutputFile, metavar="FILE", help="write the results to this file")
    running.add_argument(
        "--html", action=OutputFile, metavar="FILE", help="write an index with the verdicts to this file"
    )
    running.set_defaults(run=_run)
    table = actions.add_parser("table", help="print the results of several targets as one table (Markdown)")
    table.add_argument("results", nargs="+", type=Path, metavar="FILE", help="a file of `catalog run --json`")
    table.set_defaults(run=_table)
    for each in (listing, running):
        each.add_argument("--folder", type=Path, help="the folder with the pairs (default: scenarios/catalog)")


def _list(options: argparse.Namespace) -> int:
    from broker_scenarios.catalog import FOLDER, find, load_catalog

    found = find(load_catalog(options.folder or FOLDER), options.words)
    width = max((len(pair.name) for pair in found), default=0)
    for pair in found:
        print(f"{pair.name:{width}}  {pair.title}")
    return 0 if found else 1


def _table(options: argparse.Namespace) -> int:
    from broker_scenarios.catalog_table import read_results, results_table

    print(results_table([read_results(path) for path in options.results]), end="")
    return 0


def _run(options: argparse.Namespace) -> int:
    from broker_scenarios.catalog import FOLDER, catalog_page, load_catalog, results_json, run_pair
    from broker_scenarios.errors import ScenarioError
    from broker_scenarios.result_files import write_text
    from broker_sim.errors import nearest
    from broker_sim.html_page import write_page
    from sim_runtime.spelling import plural

    pairs = load_catalog(options.folder or FOLDER)
    names = [pair.name for pair in pairs]
    for name in options.names:
        if name not in names:
            raise ScenarioError(f"no anomaly is named {name!r}{nearest(name, names)}")
    real_cluster.check_attached(options)
    chosen = [pair for pair in pairs if not options.names or pair.name in options.names]
    results: list[PairResult] = []
    gone: ScenarioError | None = None
    with _target(options) as target:
        for pair in target.in_order(chosen):
            result = run_pair(pair, lambda side: _judged(side, options, target))
            results.append(result)
            print(f"{result.state}  {pair.name}", flush=True)
            for miss in result.misses():
                print(f"        {miss}", flush=True)
            if result.failed and (gone := _attached_problem(options)) is not None:
                break
    results.sort(key=lambda result: result.scenario.name)
    shown = sum(result.is_shown for result in results)
    refused = sum(bool(result.refused) for result in results)
    failed = sum(bool(result.failed) for result in results)
    beside = f"; {refused} need what this target does not have" if refused else ""
    beside += f"; {failed} failed with the cluster" if failed else ""
    print(f"{shown} of {len(results)} anomalies are shown, and gone in the flip, {target.name}{beside}")
    if options.json is not None:
        write_text(options.json, results_json(results, target.name), "--json")
    if options.html is not None:
        print(f"index: {write_page(options.html, catalog_page(results, target.name), '--html')}")
    if gone is not None:
        left = plural(len(chosen) - len(results), "pair")
        raise ScenarioError(f"{gone}; the cluster is gone, and {left} did not run")
    return 0 if shown + refused == len(results) else 1


def _attached_problem(options: argparse.Namespace) -> ScenarioError | None:
    """Return why the cluster of `--attach` cannot run another pair."""
    from broker_scenarios.errors import ScenarioError

    try:
        real_cluster.check_attached(options)
    except ScenarioError as error:
        return error
    return None


def _judged(side: Scenario, options: argparse.Namespace, target: CatalogTarget) -> RunRecord:
    from broker_scenarios.errors import ScenarioError
    from broker_scenarios.evidence import judged
    from broker_sim.errors import BrokerSimError

    try:
        return judged(target.run(side, side.seed if options.seed is None else options.seed), engine=None)
    except BrokerSimError as error:
        raise ScenarioError(f"{side.name}: {error}") from None


def _target(options: argparse.Namespace) -> AbstractContextManager[CatalogTarget]:
    from broker_scenarios.targets.catalog_targets import AttachedRuns, KafkaRuns, LocalRuns, VirtualRuns

    if options.local:
        return nullcontext(LocalRuns())
    if options.kafka is not None:
        return KafkaRuns(options.kafka)
    if options.attach is not None:
        return nullcontext(AttachedRuns(options.attach, real_cluster.control_of(options)))
    return nullcontext(VirtualRuns())

"""`broker-sim explore`: the orders of events of a tiny scenario, all of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_scenarios.commands.result_options import OutputFile
from broker_sim.argument_types import positive, seed

if TYPE_CHECKING:
    import argparse

EXIT_CODES: Final = """exit status:
  0  each schedule ended as the file expects
  1  a schedule did not; the shortest one is printed
  2  a file cannot be used; one line on stderr names it
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    import argparse

    parser = commands.add_parser(
        "explore",
        help="run every order of events of a tiny scenario",
        description="Run a tiny scenario on virtual time once for each schedule: the order in which messages arrive, "
        "the point at which a rule kills or stops a node, and the messages that are lost. Rules with a range for "
        "`at_ms` that act on the process of a node fire at any step. Orders that cannot differ are run once, and a "
        "state that was reached before is not continued.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenario", type=Path, metavar="FILE", help="a scenario file (YAML)")
    parser.add_argument("--seed", type=seed, help="the seed of what the file draws (default: the seed of the file)")
    parser.add_argument(
        "--depth",
        type=positive,
        metavar="N",
        help="branch at the first N choice points of a schedule (default: all)",
    )
    parser.add_argument(
        "--losses", type=positive, metavar="N", help="lose up to N messages, each with its connection (default: none)"
    )
    parser.add_argument("--runs", type=positive, metavar="N", help="how many runs the search may take (default 100000)")
    parser.add_argument(
        "--schedule",
        action=OutputFile,
        metavar="OUT",
        help="write the shortest schedule of a finding to this file",
    )
    parser.add_argument("--replay", type=Path, metavar="SCHEDULE", help="run the schedule of this file, and no other")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the report. Raises ScenarioError."""
    from dataclasses import replace

    from broker_scenarios.errors import ScenarioError
    from broker_scenarios.exploring.explore import RUNS_MAX, explore, replayed_text
    from broker_scenarios.exploring.schedule_file import load_schedule
    from broker_scenarios.language.scenario import load_scenario
    from broker_scenarios.result_files import write_text
    from broker_scenarios.table import load_progress

    scenario = load_scenario(options.scenario)
    if options.replay is not None:
        given = [name for name in ("seed", "depth", "losses", "runs", "schedule") if getattr(options, name) is not None]
        if given:
            raise ScenarioError(f"--{given[0]}: --replay runs one schedule, which has its own")
        text, is_as_expected = replayed_text(scenario, load_schedule(options.replay))
        sys.stdout.write(text)
        return 0 if is_as_expected else 1
    if options.seed is not None:
        scenario = replace(scenario, seed=options.seed)
    runs = options.runs or RUNS_MAX
    with load_progress(f"{scenario.name}, schedules", runs) as progress:
        explored = explore(
            scenario,
            depth=options.depth,
            losses=options.losses or 0,
            runs_max=runs,
            progress=lambda done: progress.update(done, ""),
        )
    sys.stdout.write(explored.text())
    schedule = explored.schedule
    if schedule is None:
        return 0
    if options.schedule is not None:
        write_text(options.schedule, schedule.text(), "--schedule")
    return 1

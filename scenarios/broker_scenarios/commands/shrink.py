"""`broker-sim shrink`: the smallest scenario that fails for the reason for which a seed fails."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_scenarios.commands import defect_option
from broker_scenarios.commands.result_options import OutputFile
from broker_scenarios.findings import FindingKind
from broker_sim.argument_types import positive, seed

if TYPE_CHECKING:
    import argparse

EXIT_CODES: Final = """exit status:
  0  a smaller scenario was written, or none was found and the given one was written
  2  the seed does not fail, or a file cannot be used; one line on stderr names it
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    import argparse

    parser = commands.add_parser(
        "shrink",
        help="find the smallest scenario that fails as a seed of a file does",
        description="Find the smallest scenario that fails on virtual time for the reason for which a seed of a file "
        "fails: an anomaly that nothing permits, or else a missed expectation. Draws become their values, then rules, "
        "records, clients, partitions, brokers, configurations and numbers are taken away while the failure stays.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenario", type=Path, metavar="FILE", help="a scenario file (YAML)")
    parser.add_argument("--seed", type=seed, help="the seed (default: the seed of the file)")
    parser.add_argument("--records", type=positive, help="begin with this many records instead of the file's")
    defect_option.add(parser)
    parser.add_argument(
        "--finding",
        choices=[kind.value for kind in FindingKind],
        metavar="KIND",
        help="shrink to this anomaly, permitted or not, such as lost-write",
    )
    parser.add_argument("--runs", type=positive, metavar="N", help="how many runs the search may take (default 600)")
    parser.add_argument(
        "--output",
        action=OutputFile,
        metavar="OUT",
        help="write the scenario to this file instead of standard output",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print or write the shrunk scenario. Raises ScenarioError."""
    from broker_scenarios.language.scenario import load_scenario
    from broker_scenarios.result_files import write_text
    from broker_scenarios.shrinking.shrink import RUNS_MAX, shrink
    from broker_scenarios.table import load_progress

    scenario = load_scenario(options.scenario, defect=options.defect)
    if options.records is not None:
        scenario = scenario.with_records(options.records)
    runs = options.runs or RUNS_MAX
    with load_progress(f"{scenario.name}, runs", runs) as progress:
        shrunk = shrink(
            scenario,
            scenario.seed if options.seed is None else options.seed,
            finding=None if options.finding is None else FindingKind(options.finding),
            runs_max=runs,
            progress=lambda done: progress.update(done, ""),
        )
    if options.output is None:
        sys.stdout.write(shrunk.text())
    else:
        write_text(options.output, shrunk.text(), "--output")
    sys.stderr.write(f"{shrunk.summary}\n")
    return 0

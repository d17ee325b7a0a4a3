"""`broker-sim determinism`: one seed in two processes, and the first event in which they differ."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_sim.argument_types import positive, seed

if TYPE_CHECKING:
    import argparse

EXIT_CODES: Final = """exit status:
  0  both processes made the same run
  1  the runs differ; the first event that differs is named
  2  nothing was recorded: a file or a test cannot be used; one line on stderr names the reason
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    import argparse

    parser = commands.add_parser(
        "determinism",
        help="run one seed in two processes, and name the first event that differs",
        description="Run one seed on virtual time in two processes with different hash seeds (PYTHONHASHSEED), and "
        "compare their journals and the fingerprints of their worlds. FILE is a scenario file, or a test with pytest's "
        "fixture virtual_cluster, such as test_shop.py::test_orders[seed-3]. Equal runs can be replayed; the first "
        "event that differs shows what the seed does not decide, such as the order of a set of strings.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="a scenario file (YAML), or a test: FILE.py::TEST")
    parser.add_argument("--seed", type=seed, help="the seed of a scenario (default: the seed of the file)")
    parser.add_argument("--records", type=positive, help="send this many records instead of the file's")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the comparison. Raises ScenarioError."""
    from broker_scenarios.errors import ScenarioError
    from broker_scenarios.language.scenario import load_scenario
    from broker_scenarios.run_comparison import compare_runs, scenario_command, test_command

    if options.file.partition("::")[0].endswith(".py"):
        if options.seed is not None or options.records is not None:
            raise ScenarioError(f"{options.file}: a test has its seed in its name, and no --seed or --records")
        compared = compare_runs(test_command(options.file))
        subject = options.file
    else:
        path = Path(options.file)
        scenario = load_scenario(path)
        number = scenario.seed if options.seed is None else options.seed
        compared = compare_runs(scenario_command(path, number, options.records))
        subject = f"{scenario.name}, seed {number}"
    sys.stdout.write(f"{subject}: {compared.text()}\n")
    return 0 if compared.equal else 1

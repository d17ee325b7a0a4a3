"""`broker-sim serve SCENARIO`: the cluster of a scenario for the user's own clients, with a verdict at the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_scenarios.commands import result_options
from broker_sim.argument_types import positive

if TYPE_CHECKING:
    import argparse

__all__ = ["add_arguments"]

_OF_SCENARIOS: Final = ("duration", "json", "junit", "markdown")
"""The options that need a scenario."""
_WITH_SCENARIO: Final = (
    *_OF_SCENARIOS, "scenario", "host", "port", "seed", "journal", "control", "control_token_file", "verbose", "run",
)  # fmt: skip
"""The options that a scenario does not decide."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `serve` has beside the options of broker_sim."""
    parser.add_argument(
        "scenario",
        nargs="?",
        type=Path,
        metavar="SCENARIO.yaml",
        help="serve the cluster, topics and rules of this file; its clients do not run. At the end the verdict on what "
        "brokers and logs show is printed; exit status 0 if it is what the file expects, else 1",
    )
    parser.add_argument(
        "--duration", type=positive, metavar="SECONDS", help="end then (default with SCENARIO.yaml: its deadline_s)"
    )
    result_options.add(parser)
    defaults = {name: parser.get_default(name) for name in vars(parser.parse_args([]))}

    def run(options: argparse.Namespace) -> int:
        return _run(options, [name for name, default in defaults.items() if getattr(options, name) != default])

    parser.set_defaults(run=run)


def _run(options: argparse.Namespace, given: list[str]) -> int:
    from broker_scenarios.errors import ScenarioError
    from broker_sim import serve

    if options.scenario is None:
        for name in _OF_SCENARIOS:
            if name in given:
                raise ScenarioError(f"--{name} is for `serve SCENARIO.yaml`: expected a scenario file")
        return serve.run(options)
    decided = [name for name in given if name not in _WITH_SCENARIO]
    if decided:
        option = "-o" if decided[0] == "config" else f"--{decided[0].replace('_', '-')}"
        raise ScenarioError(f"{option}: {options.scenario} decides it; without a scenario serve takes it")

    from broker_scenarios.language.scenario import load_scenario
    from broker_scenarios.served.serve_scenario import ServeOptions, serve_scenario

    scenario = load_scenario(options.scenario)
    return serve_scenario(
        scenario,
        options.seed or scenario.seed,
        ServeOptions(
            host=options.host,
            ports=[options.port + place for place in range(scenario.brokers)] if options.port else None,
            duration_s=options.duration or scenario.deadline_s,
            journal=options.journal,
            control=options.control,
            control_token_file=options.control_token_file,
            files=result_options.files_of(options),
        ),
    )

"""Run the replication machines for long, or against a simulator that is broken on purpose.

    python -m tests.broker_sim.replication.hunt [--examples 1000] [--steps 40] [--seed 7] [MACHINE ...]
    python -m tests.broker_sim.replication.hunt --break ack-before-isr

With --break the exit status is 0 when the break was found.
"""

from __future__ import annotations

import argparse
import sys

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.broker_sim.replication.breaks import BREAKS
from tests.broker_sim.replication.replication_machine import MACHINES, ReplicationMachine


def run(
    machine: type[ReplicationMachine],
    *,
    examples: int,
    steps: int = 40,
    derandomize: bool = False,
    seed_of_all: int | None = None,
    shrink: bool = True,
) -> None:
    """Run one machine; a failure is raised with the smallest program that fails, unless it is not to be shrunk."""
    phases = (Phase.explicit, Phase.generate, *((Phase.shrink,) if shrink else ()))
    if seed_of_all is not None:
        machine = seed(seed_of_all)(machine)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=derandomize,
            database=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        ),
    )


def broken(machine: type[ReplicationMachine], name: str) -> type[ReplicationMachine]:
    """Return the machine with a simulator that has one of BREAKS."""
    return type(machine.__name__, (machine,), {"defects": (BREAKS[name],)})


def main() -> int:
    """Parse the command line and hunt."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=1_000)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--break", dest="broken", choices=sorted(BREAKS))
    parser.add_argument("machines", nargs="*", metavar="MACHINE", help=f"of {', '.join(MACHINES)} (all)")
    arguments = parser.parse_args()
    for name in arguments.machines or MACHINES:
        try:
            if arguments.broken is None:
                run(MACHINES[name], examples=arguments.examples, steps=arguments.steps, seed_of_all=arguments.seed)
            else:
                run(
                    broken(MACHINES[name], arguments.broken),
                    examples=arguments.examples,
                    steps=arguments.steps,
                    seed_of_all=arguments.seed,
                    shrink=False,
                )
        except Exception as error:
            if arguments.broken is None:
                raise
            print(f"{name}: {arguments.broken} was found: {error!r:.200}")
            return 0
        print(f"{name}: nothing was found")
    return 1 if arguments.broken else 0


if __name__ == "__main__":
    sys.exit(main())

"""Prints the digests of runs on virtual time: a seed of every swarm, and of scenarios with foreign clients.

python -m tests.interop.run_digests
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.sweeps.seed_run import run_seed

ROOT: Final = Path(__file__).parents[2]
SEED: Final = 1


def main() -> None:
    """Print a line per scenario: its name, and the digest of its run."""
    swarms = sorted((ROOT / "scenarios" / "swarms").glob("*.yaml"))
    for path in (*swarms, ROOT / "tests" / "determinism" / "ordinary-faults-kafka-python.yaml"):
        print(path.stem, run_seed(load_scenario(path), SEED).digest)


if __name__ == "__main__":
    main()

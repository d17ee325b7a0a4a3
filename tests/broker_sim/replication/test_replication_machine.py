"""After any faults of brokers and links, acknowledged records stay, replicas agree, and the cluster recovers.

For longer, and for more mistakes to be found: `python -m tests.broker_sim.replication.hunt --help`.
"""

from __future__ import annotations

import pytest

from tests.broker_sim.replication.hunt import broken, run
from tests.broker_sim.replication.replication_machine import MACHINES

EXAMPLES = 24
EXAMPLES_UNTIL_FOUND = 200


@pytest.mark.parametrize("name", MACHINES)
def test_no_acknowledged_record_is_lost_and_replicas_agree(name: str) -> None:
    run(MACHINES[name], examples=EXAMPLES, derandomize=True)


@pytest.mark.parametrize("name", ["ack-before-isr", "trust-any-epoch"])
def test_a_mistake_that_is_made_on_purpose_is_found(name: str) -> None:
    with pytest.raises(AssertionError):
        run(broken(MACHINES["3.7"], name), examples=EXAMPLES_UNTIL_FOUND, derandomize=True, shrink=False)

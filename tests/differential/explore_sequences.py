"""Send the same drawn sequences of requests to real brokers and to ours, and report where they differ.

    python -m tests.differential.explore_sequences --release 4.3.1 --seed 1 --sequences 100

A sequence creates its own topics, sends on several connections, now and then several requests at once, and ends with
requests that read all that it has left behind. It is reported up to the first responses that differ, if they differ
again in a second run with topics of other names: a real broker without CPU time for long behaves differently. With
three brokers replicas move and leaders are elected; with --down the third of them has been shut down.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.json_form import to_json
from tests.differential.cluster_steps import ALL, ClusterSequence
from tests.differential.conversations import Parting, explorer_arguments, hold_all
from tests.differential.explore import first_difference
from tests.differential.nodes import OurNodes
from tests.differential.record import SETTINGS
from tests.differential.sequence_steps import Sequence, Step
from tests.differential.sequence_talkers import Talker, groups
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence as Items

DOWN: Final = 3
SHOWN_STEPS: Final = 14
SHOWN_CHARACTERS: Final = 700


def converse(arguments: argparse.Namespace, sides: Items[str], number: int, turn: str) -> Parting | None:
    """Hold one conversation; return where the sides part, or None."""
    alive = tuple(each for each in ALL[: arguments.brokers] if not (arguments.down and each == DOWN))
    random = Random(f"{arguments.seed} {number} {arguments.release}")
    name = f"s{arguments.seed}{turn}-{number}"
    sequence = Sequence(random=random, name=name, release=arguments.release)
    if arguments.brokers > 1:
        sequence = ClusterSequence(random=random, name=name, release=arguments.release, alive=alive)
    steps = sequence.steps(arguments.steps)
    talkers = [Talker(side, arguments.release, name, alive) for side in sides]
    sent: list[Step] = []
    try:
        for group in groups(steps, random):
            real, ours = [talker.exchange(group) for talker in talkers]
            sent += group
            if real != ours:
                path, was, now = first_difference(real, ours)
                apis = "+".join(dict.fromkeys(step.request.NAME for step in group))
                lines = [*map(_format_step, sent[-SHOWN_STEPS:]), f"real {real}"[:2000], f"ours {ours}"[:2000]]
                key = f"{apis} {path}: {str(was)[:120]} -> {str(now)[:120]}"
                return Parting(key.replace(name, "<name>"), lines)
            for talker in talkers:
                talker.settle(group)
    finally:
        for talker in talkers:
            talker.close()
    return None


def _format_step(step: Step) -> str:
    shown = to_json(step.request, step.request.VERSIONS.highest)
    return f"{step.broker}/{step.connection}: {step.request.NAME} v{step.version} {shown}"[:SHOWN_CHARACTERS]


def main() -> int:
    """Explore; the exit code is 1 if the sides differ."""
    parser = explorer_arguments(__doc__, sequences=50, steps=25)
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=1)
    parser.add_argument("--down", action="store_true", help="broker 3 of three is down")
    arguments = parser.parse_args()
    release, brokers = arguments.release, arguments.brokers
    with ExitStack() as running:
        kafka = running.enter_context(real_kafka(release, brokers=brokers, settings=SETTINGS))
        cluster = running.enter_context(ThreadedCluster(brokers=brokers, release=release, config=SETTINGS))
        if arguments.down:
            for nodes in (kafka, OurNodes(cluster)):
                nodes.shut_down(DOWN)
        return hold_all(arguments, partial(converse, arguments, (kafka.bootstrap_servers, cluster.bootstrap_servers)))


if __name__ == "__main__":
    sys.exit(main())

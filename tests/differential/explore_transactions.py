"""Hold drawn conversations of transactional producers with a real broker and with ours, and report where they part.

python -m tests.differential.explore_transactions --release 4.3.1 --seed 1 --sequences 30
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.json_form import to_json
from tests.differential.cases.transaction_log import SOON
from tests.differential.compare import differences
from tests.differential.conversations import Parting, explorer_arguments, hold_all
from tests.differential.explore import first_difference
from tests.differential.extra_listeners import ours
from tests.differential.group_requests import NO_DELAY
from tests.differential.record import SETTINGS
from tests.differential.transaction_sequences import TransactionSequence, TransactionSide, TransactionStep
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

SHOWN_STEPS: Final = 25
SHOWN_CHARACTERS: Final = 400


def converse(arguments: argparse.Namespace, servers: Sequence[str], number: int, turn: str) -> Parting | None:
    """Hold one conversation; return where the sides part and the requests of ours up to there, or None."""
    name = f"ts{arguments.seed}{turn}-{number}"
    random = Random(f"{arguments.seed} {number} {arguments.release}")
    steps = TransactionSequence(random, arguments.release).steps(arguments.steps)
    sides = [TransactionSide(server, arguments.release, name) for server in servers]
    try:
        return _hold(steps, sides, name)
    finally:
        for side in sides:
            side.probe.close()


def _hold(steps: Sequence[TransactionStep], sides: Sequence[TransactionSide], name: str) -> Parting | None:
    notes: list[str] = []
    for step in steps:
        taken = []
        for side in sides:
            begin = len(side.probe.transcript)
            step.act(side)
            side.settle()
            taken.append(side.probe.transcript[begin:])
        notes += [step.note] * len(taken[1])
        if taken[0] == taken[1]:
            continue
        path, was, now = first_difference(*taken)
        key = f"{step.note}: {path}: {str(was)[:160]} -> {str(now)[:160]}".replace(name, "<name>")
        probe = sides[1].probe
        shown = [
            f"{note}: {entry.get('api')} v{entry.get('version')} "
            f"{'' if request is None else json.dumps(to_json(request, entry['version']))[:SHOWN_CHARACTERS]}"
            f" -> {json.dumps(entry['response'])[:SHOWN_CHARACTERS]}"
            for note, entry, request in zip(notes, probe.transcript, probe.sent, strict=False)
        ]
        both = [
            f"{where}: real {str(left)[:1000]} ours {str(right)[:1000]}"
            for was, now in zip(*taken, strict=False)
            for where, left, right in differences(was, now)
        ]
        return Parting(key, [*shown[-SHOWN_STEPS:], *both])
    return None


def main() -> int:
    """Explore; the exit code is 1 if the sides part."""
    arguments = explorer_arguments(__doc__, sequences=30, steps=30).parse_args()
    settings = SETTINGS | dict((*NO_DELAY, *SOON))
    with ExitStack() as running:
        kafka = running.enter_context(real_kafka(arguments.release, settings=settings))
        cluster = running.enter_context(ThreadedCluster(brokers=1, release=arguments.release, config=ours(settings, 1)))
        servers = [kafka.bootstrap_servers, cluster.bootstrap_servers]
        return hold_all(arguments, partial(converse, arguments, servers))


if __name__ == "__main__":
    sys.exit(main())

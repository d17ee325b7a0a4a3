"""Hold drawn conversations of transactional producers with a real broker and with ours, and report where they part.

    python -m tests.differential.explore_transactions --release 4.3.1 --seed 1 --sequences 30
    python -m tests.differential.explore_transactions --release 4.3.1 --seed 1 --sequences 30 --level 1
    python -m tests.differential.explore_transactions --release 4.3.1 --seed 1 --sequences 30 --members
    python -m tests.differential.explore_transactions --release 4.3.1 --seed 1 --sequences 30 --moves

With `--members` offsets are committed by members of groups, and requests of every version read between the steps.
With `--moves` there are three brokers, one of them down: coordinators and leaders move between the others, and topics
become too strict for writes, so that transactions remain prepared.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.json_form import to_json
from tests.differential.cases.transaction_log import SOON
from tests.differential.cases.transaction_versions import LEVELS, set_level
from tests.differential.compare import differences
from tests.differential.conversations import KEPT_RECORDS, Parting, explorer_arguments, hold_all
from tests.differential.explore import first_difference
from tests.differential.extra_listeners import ours
from tests.differential.group_requests import NO_DELAY
from tests.differential.nodes import OurNodes
from tests.differential.probe import Probe
from tests.differential.record import SETTINGS
from tests.differential.transaction_group_steps import MemberSequence, MemberSide
from tests.differential.transaction_moves import DOWN, MovingSequence, MovingSide, place_internal_topics
from tests.differential.transaction_sequences import TransactionSequence, TransactionSide, TransactionStep
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from protocol_specs.message import Message

SHORT_WRITES: Final = {"offsets.commit.timeout.ms": "600"}
"""A marker of offsets that cannot be replicated fails before a step is over."""

ASSIGNED_AT_ONCE: Final = {"group.consumer.assignment.interval.ms": "0"}
SHOWN_LINES: Final = 50
SHOWN_CHARACTERS: Final = 400


def converse(arguments: argparse.Namespace, servers: Sequence[str], number: int, turn: str) -> Parting | None:
    """Hold one conversation; return where the sides part and the requests of ours up to there, or None."""
    name = f"ts{arguments.seed}{turn}-{number}"
    random = Random(f"{arguments.seed} {number} {arguments.release}")
    sequence, side = _kind(arguments)
    steps = sequence(random, arguments.release, v2=arguments.level == LEVELS[0]).steps(arguments.steps)
    sides = [side(Probe(server, release=arguments.release, name=name)) for server in servers]
    try:
        return _hold(steps, sides, name)
    finally:
        for side in sides:
            side.close()


def _kind(arguments: argparse.Namespace) -> tuple[type[TransactionSequence], type[TransactionSide]]:
    if arguments.moves:
        return MovingSequence, MovingSide
    return (MemberSequence, MemberSide) if arguments.members else (TransactionSequence, TransactionSide)


def _hold(steps: Sequence[TransactionStep], sides: Sequence[TransactionSide], name: str) -> Parting | None:
    shown: list[str] = []
    for step in steps:
        taken, begin = [], len(sides[1].probe.transcript)
        for side in sides:
            first = len(side.probe.transcript)
            step.act(side)
            side.settle()
            taken.append(side.probe.transcript[first:])
        shown += [step.note, *map(_exchanged, taken[1], sides[1].probe.sent[begin:])]
        if taken[0] == taken[1]:
            continue
        path, was, now = first_difference(*taken)
        key = f"{step.note}: {path}: {str(was)[:160]} -> {str(now)[:160]}".replace(name, "<name>")
        both = [
            f"{where}: real {str(left)[:1000]} ours {str(right)[:1000]}"
            for was, now in zip(*taken, strict=False)
            for where, left, right in differences(was, now)
        ]
        return Parting(key, [*shown[-SHOWN_LINES:], *both])
    return None


def _exchanged(entry: dict[str, Any], request: Message | None) -> str:
    sent = "" if request is None else json.dumps(to_json(request, entry["version"]))[:SHOWN_CHARACTERS]
    received = json.dumps(entry["response"])[:SHOWN_CHARACTERS]
    return f"    {entry.get('api')} v{entry.get('version')} {sent} -> {received}"


def prepare(probe: Probe, *, level: int, moves: bool) -> None:
    """Set the level of transactions, and place the internal topics where their coordinators move."""
    if level != LEVELS[0]:
        set_level(probe, level)
    if moves:
        place_internal_topics(probe)
    probe.close()


def main() -> int:
    """Explore; the exit code is 1 if the sides part."""
    parser = explorer_arguments(__doc__, sequences=30, steps=30)
    parser.add_argument("--level", type=int, choices=LEVELS, default=LEVELS[0], help="of transaction.version")
    parser.add_argument("--moves", action="store_true", help="leaders and coordinators move between brokers")
    parser.add_argument("--members", action="store_true", help="offsets are committed by members of groups")
    arguments = parser.parse_args()
    release, brokers = arguments.release, 3 if arguments.moves else 1
    settings = SETTINGS | KEPT_RECORDS | SHORT_WRITES | dict((*NO_DELAY, *SOON))
    if not release.startswith("3"):
        settings |= ASSIGNED_AT_ONCE
    with ExitStack() as running:
        kafka = running.enter_context(real_kafka(release, brokers=brokers, settings=settings))
        config = ours(settings, brokers)
        cluster = running.enter_context(ThreadedCluster(brokers=brokers, release=release, config=config))
        servers = [kafka.bootstrap_servers, cluster.bootstrap_servers]
        for server in servers:
            prepare(Probe(server, release=release, name="prepare"), level=arguments.level, moves=arguments.moves)
        if arguments.moves:
            for nodes in (kafka, OurNodes(cluster)):
                nodes.shut_down(DOWN)
        return hold_all(arguments, partial(converse, arguments, servers))


if __name__ == "__main__":
    sys.exit(main())

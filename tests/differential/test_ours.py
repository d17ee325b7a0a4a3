"""Our broker against the recorded responses of real ones: every case, both releases, without Maven."""

from __future__ import annotations

from contextlib import ExitStack
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import pytest

from broker_sim.threaded_cluster import ThreadedCluster
from sim_runtime.repeating_call import RepeatingCall
from tests.differential.case import RELEASES, Case, all_cases, run_case
from tests.differential.extra_listeners import bound_by, ours, probe_servers
from tests.differential.housekeeping import OFTEN
from tests.differential.nodes import Nodes, OurNodes
from tests.differential.record import SETTINGS
from tests.differential.recordings import recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from broker_sim.log.log_manager import LogManager

RECORDED = [(release, each) for release in RELEASES for each in all_cases().values() if release in each.releases]


def cluster_of(pair: tuple[str, Case]) -> tuple[str, int, tuple[tuple[str, str], ...]]:
    """The release, size and settings of the cluster of a case."""
    release, case = pair
    return release, case.brokers, case.settings_for(release)


PLACES = {cluster: place for place, cluster in enumerate(dict.fromkeys(map(cluster_of, RECORDED)))}
PAIRS = sorted(RECORDED, key=lambda pair: PLACES[cluster_of(pair)])
"""The cases of one cluster follow each other: another hundred clusters would cost more than the cases."""


def keep_house_often(manager: LogManager) -> None:
    """Expire and compact records all the time: a case whose records may go fails here, not once on a slow machine.

    A real broker looks for expired records 30 seconds after its start and every five minutes, and compacts every
    15 seconds: in the middle of any case.
    """
    manager._retention.stop()
    manager._retention = RepeatingCall(manager._reactor, 20, manager.delete_old_segments)
    manager._retention.start(initial_delay_ms=0)
    if manager._cleaner is not None:
        manager._cleaner.stop()
        manager._cleaner = RepeatingCall(manager._reactor, 20, manager.clean)
        manager._cleaner.start()


@pytest.fixture(scope="module")
def served() -> Iterator[Callable[[str, int, tuple[tuple[str, str], ...]], tuple[str, Nodes]]]:
    """Return a function: release, size and settings -> the servers and processes of that cluster, and of no other."""
    with ExitStack() as clusters:

        @lru_cache(maxsize=1)
        def serve(release: str, brokers: int, settings: tuple[tuple[str, str], ...]) -> tuple[str, Nodes]:
            clusters.close()
            config = ours(SETTINGS | dict(settings), brokers)
            cluster = clusters.enter_context(ThreadedCluster(brokers=brokers, release=release, config=config))
            if not dict(settings).keys() & dict(OFTEN).keys():
                for broker in cluster.cluster.brokers.values():
                    cluster.call(partial(keep_house_often, broker._log_manager))
            return probe_servers(cluster.bootstrap_servers, bound_by(cluster)), OurNodes(cluster)

        yield serve


@pytest.mark.parametrize(("release", "each"), PAIRS, ids=[f"{release}-{each.name}" for release, each in PAIRS])
def test_our_broker_responds_as_the_real_one_did(
    served: Callable[[str, int, tuple[tuple[str, str], ...]], tuple[str, Nodes]], release: str, each: Case
) -> None:
    bootstrap, nodes = served(release, each.brokers, each.settings_for(release))
    name = each.name
    real = recorded(release)[name]
    returned = run_case(each, bootstrap, release, nodes, expected=real)
    reason = each.accepted.get(release) or each.pending.get(release)
    if reason:
        assert returned != real, f"listed as different ({reason}), but it is the same now"
        return
    assert returned == real


def test_every_case_has_a_recording() -> None:
    missing = [(release, each.name) for release, each in RECORDED if each.name not in recorded(release)]
    assert missing == [], "run: python -m tests.differential.record"


def test_no_recording_is_left_of_a_case_that_is_gone() -> None:
    known: dict[str, Case] = all_cases()
    for release in RELEASES:
        assert [name for name in recorded(release) if name not in known] == []

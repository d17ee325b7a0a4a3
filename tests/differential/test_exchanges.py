"""Our broker in conversations that real ones have had: each release's recorded exchanges, replayed in their order."""

from __future__ import annotations

from typing import Any

import pytest

from broker_sim.threaded_cluster import ThreadedCluster
from tests.differential.case import RELEASES
from tests.differential.exchange_differences import OPEN, Verdict, expected
from tests.differential.exchanges import SETTINGS, Replay, exchanges


@pytest.mark.parametrize("release", RELEASES)
def test_a_replay_differs_exactly_where_the_table_lists_it(release: str) -> None:
    wrong = []
    with ThreadedCluster(brokers=1, release=release, config=SETTINGS) as cluster:
        replay = Replay(cluster.bootstrap_servers, cluster.cluster.controller_bootstrap_servers)
        for exchange in exchanges(release):
            verdict, reason = expected(exchange)
            if verdict not in (Verdict.SAME, Verdict.OPEN):
                continue
            ours, real = replay.run(exchange)
            if verdict is Verdict.SAME and ours != real:
                wrong.append(f"{exchange.key}: {_difference(ours, real)}")
            if verdict is Verdict.OPEN and ours == real:
                wrong.append(f"{exchange.key}: the same now, though the table has: {reason}")
        replay.close()
    assert wrong == []


def test_the_table_lists_only_recorded_exchanges() -> None:
    known = {(each.release, each.case, each.api_key) for release in RELEASES for each in exchanges(release)}
    assert [key for key in OPEN if key not in known] == []


def test_all_the_exchanges_are_there() -> None:
    assert {release: len(exchanges(release)) for release in RELEASES} == {"3.7.2": 360, "4.3.1": 392}


def _difference(ours: Any, real: Any, path: str = "") -> str:
    """Return the first place where two responses differ."""
    if isinstance(ours, dict) and isinstance(real, dict) and ours.keys() == real.keys():
        name = next(name for name in ours if ours[name] != real[name])
        return _difference(ours[name], real[name], f"{path}.{name}")
    if isinstance(ours, list) and isinstance(real, list) and len(ours) == len(real):
        index = next(index for index, item in enumerate(ours) if item != real[index])
        return _difference(ours[index], real[index], f"{path}[{index}]")
    return f"{path} is {ours!r}, and {real!r} of the real broker"

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_scenarios.cli import main
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAIR = """
title: t
cluster: {brokers: 1, DEFECTS}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients:
  app: {producer: {enable.idempotence: false, linger.ms: 0}, script: [{send: {count: 3, wait: true}}, close]}
  service:
    producer: {transactional.id: t}
    script: [init, begin, {send: 2}, flush, abort, begin, {send: 1}, commit, close]
rules: {lose: {select: {api: Produce, nth: 2, client: app}, phase: before_response, act: disconnect}, MORE}
expect: {duplicate: 1, lost: 0, outcome: {ok: 4, fail: 2}, EXPECT}
flip: {why: w, clients: {app: {producer: {enable.idempotence: true}}}, expect: {duplicate: 0, outcome: {ok: 4}}}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1, quick_groups=True, config={
        "transaction.state.log.replication.factor": 1, "transaction.state.log.min.isr": 1,
    }) as threaded:  # fmt: skip
        yield threaded


def run(cluster: ThreadedCluster, folder: Path, *, defects: str = "", more: str = "", expect: str = "") -> int:
    path = folder / "case.yaml"
    path.write_text(PAIR.replace(", DEFECTS", defects).replace(", MORE", more).replace(", EXPECT", expect))
    address = cluster.bootstrap_servers.partition(",")[0]
    return main(["run", str(path), "--attach", address, "--report", str(folder / "report.html")])


def test_a_pair_runs_on_a_running_cluster_and_leaves_nothing_there(cluster: ThreadedCluster, tmp_path: Path) -> None:
    assert run(cluster, tmp_path) == 0
    assert "orders" not in cluster.call(lambda: cluster.cluster.partition_counts)


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"defects": ", defects: [dedup-none]"}, "a running cluster cannot be given defects (dedup-none)"),
        (
            {"expect": ", measures: {ids: {measure: highest_metric, metric: ProducerIdCount, is: 1}}"},
            "ids: a running cluster is not asked for its metrics",
        ),
        ({"more": ", crash: {when: {acked_records: 1}, act: {kill: 1}}"}, "kill"),
        ({"more": ", late: {when: {appended_records: 1}, act: {refuse: 1}}"}, "a proxy does not see appended_records"),
        ({"more": ", early: {select: {api: Produce}, phase: after_append, act: hold}"}, "not after_append"),
    ],
)
def test_what_a_running_cluster_cannot_do_is_refused_by_name(
    cluster: ThreadedCluster,
    tmp_path: Path,
    parts: dict[str, str],
    problem: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(cluster, tmp_path, **parts) == 2
    assert problem in capsys.readouterr().err
    assert "orders" not in cluster.call(lambda: cluster.cluster.partition_counts)


def test_an_address_where_nothing_listens_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(PAIR.replace(", DEFECTS", "").replace(", MORE", "").replace(", EXPECT", ""))
    assert main(["run", str(path), "--attach", "127.0.0.1:1"]) == 2
    assert "cannot connect" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["run", str(path), "--attach", "nowhere"])
    assert "expected HOST:PORT" in capsys.readouterr().err

from __future__ import annotations

from typing import Any

import pytest

from broker_sim.errors import BrokerSimError
from broker_sim.http_control import clusters as module
from broker_sim.http_control.clusters import Clusters, HostedCluster
from broker_sim.http_control.operation import UnknownName
from sim_runtime.virtual_reactor import VirtualReactor


class Started:
    """Stands for a cluster that can be made and started."""

    def start(self) -> None:
        """Do nothing."""


def make(*_: object) -> Any:
    return Started()


def test_names_are_free_valid_and_unique() -> None:
    clusters = Clusters(VirtualReactor())
    assert clusters.start(clusters.free_name(), make).name == "cluster-1"
    assert clusters.free_name() == "cluster-2"
    for name, problem in (("cluster-1", "is the name of another cluster"), ("", "is not 1 to 100"), ("ä", "is not 1")):
        with pytest.raises(BrokerSimError, match=problem):
            clusters.start(name, make)
    with pytest.raises(UnknownName, match="did you mean 'cluster-1'"):
        clusters.named("cluster1")


def test_their_number_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLUSTERS_MAX", 2)
    clusters = Clusters(VirtualReactor())
    clusters.start("first", make)
    clusters.start("second", make)
    with pytest.raises(BrokerSimError, match="there are 2 clusters"):
        clusters.start("third", make)
    assert [hosted.name for hosted in clusters] == ["first", "second"]


def test_a_cluster_with_files_is_neither_reset_nor_closed() -> None:
    clusters = Clusters(VirtualReactor())
    clusters.host(
        HostedCluster(name="default", make=make, cluster=make(), kept="writes to files (--data-dir, --journal)")
    )
    for refused in (clusters.reset, clusters.close):
        with pytest.raises(BrokerSimError, match="--data-dir"):
            refused("default")
    assert clusters.named("default")

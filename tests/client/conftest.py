"""A scripted cluster and producers on it, in one simulated world."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from broker_client.core.producer.producer_core import ProducerCore
from broker_client.producer_config import ProducerConfig
from sim_runtime.world import World
from tests.client.scripted_broker import ScriptedCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from broker_sim.threaded_cluster import ThreadedCluster

ProducerOn = "Callable[..., ProducerCore]"


@pytest.fixture
def world() -> World:
    return World(7)


@pytest.fixture
def cluster(world: World) -> ScriptedCluster:
    scripted = ScriptedCluster(world)
    scripted.create("orders")
    return scripted


@pytest.fixture
def producer_on(world: World) -> Iterator[Callable[..., ProducerCore]]:
    """Create producers on a cluster; at the end each is closed and must have released all memory."""
    made: list[ProducerCore] = []

    def make(cluster: ScriptedCluster, **options: Any) -> ProducerCore:
        given = {"bootstrap_servers": cluster.bootstrap_servers, **options}
        core = ProducerCore(ProducerConfig(given), cluster.client, world.streams.stream(f"producer {len(made)}"))
        made.append(core)
        return core

    yield make
    for core in made:
        world.run_until(core.close(0))
        assert core.pool.available_bytes == core.pool.memory_bytes
        assert core.loop_errors == 0


@pytest.fixture
def without_cramjam(monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[None]]:
    """Return a context in which the package of most codecs is not installed."""

    @contextmanager
    def missing() -> Iterator[None]:
        with monkeypatch.context() as patch:
            for name in ("protocol_specs.records.lz4_frame", "protocol_specs.records.xerial_snappy"):
                patch.delitem(sys.modules, name, raising=False)
            patch.setitem(sys.modules, "cramjam", None)
            yield

    return missing


@pytest.fixture
def held(cluster: ThreadedCluster) -> Iterator[Callable[[], None]]:
    """Hold all Produce requests until this is called, in modules whose cluster has threads."""
    cluster.add_rule({"name": "held", "select": {"api": "Produce"}, "act": {"hold": True}})
    released = False

    def release() -> None:
        nonlocal released
        if not released:
            released = True
            cluster.release_rule("held")
            cluster.remove_rule("held")

    yield release
    release()

"""A broker with its logs on a virtual disk, or three of them: the fixture `on_disk` makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sim_runtime.virtual_disk import VirtualDisk
from tests.broker_sim.conftest import Replicas

if TYPE_CHECKING:
    from collections.abc import Callable


class OnDisk(Replicas):
    """Brokers that can be killed and started again; `content` reads a file of the log of broker 1."""

    def __init__(self, **options: Any) -> None:
        self.disk = VirtualDisk()
        super().__init__(disk=self.disk, **options)

    def content(self, kind: str = "log") -> bytes:
        [path] = self.disk.files(lambda path: "/broker-1/" in path and "/t-0/" in path and path.endswith(f".{kind}"))
        return self.disk.read(path)

    def start_again(self, *, orderly: bool = False) -> None:
        """End broker 1, by a kill or in order, and start it."""
        if orderly:
            self.world.run_until(self.cluster.stop(1))
        else:
            self.cluster.kill(1)
        self.world.run_until(self.cluster.restart(1), deadline_ms=60_000)
        self.run(ms=10_000)


@pytest.fixture
def on_disk() -> Callable[..., OnDisk]:
    def make(brokers: int = 1, **options: Any) -> OnDisk:
        return OnDisk(brokers=brokers, replication_factor=brokers, **options)

    return make

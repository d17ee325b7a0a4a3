"""Tasks at intervals: the removal of expired delegation tokens; others are tested with their work."""

from __future__ import annotations

from dataclasses import replace

from broker_sim.cluster import Cluster
from broker_sim.security.delegation_token import DelegationToken
from sim_runtime.world import World

CONFIG = {"delegation.token.expiry.time.ms": "1500", "delegation.token.expiry.check.interval.ms": "1000"}


def started(config: dict[str, str]) -> tuple[World, Cluster]:
    world = World(1)
    cluster = Cluster(reactor=world.reactor, streams=world.streams, brokers=1, listen=False, config=config)
    cluster.start()
    return world, cluster


def test_expired_tokens_are_removed_at_intervals() -> None:
    world, cluster = started(CONFIG | {"delegation.token.secret.key": "secret"})
    cluster.controller.controls.tokens.create("User:ann", "User:ann", (), -1)
    counts = []
    for _ in range(3):
        world.reactor.run_for(ms=1001)
        counts.append(len(cluster.controller.image.tokens))
    cluster.close()
    assert counts == [1, 0, 0]


def test_a_controller_without_a_secret_leaves_tokens_alone() -> None:
    world, cluster = started(CONFIG)
    token = DelegationToken(
        token_id="id", owner="User:a", requester="User:a", renewers=(), issued_ms=0, max_ms=1, expires_ms=1
    )
    cluster.controller.change("test", lambda image: replace(image, tokens={"id": token}))
    world.reactor.run_for(ms=3000)
    cluster.close()
    assert cluster.controller.image.tokens == {"id": token}

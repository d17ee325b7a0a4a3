"""Delegation tokens at the controller, on virtual time: their life, and who may change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.cluster import Cluster
from broker_sim.metadata.metadata_image import MetadataImage
from broker_sim.metadata.metadata_records import image_records
from broker_sim.metadata.metadata_replay import replay
from broker_sim.security.delegation_token import TokenRefused
from protocol_specs.error_codes import ErrorCode
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from broker_sim.controller.token_control import TokenControl

ANN, BOB, ROOT = "User:ann", "User:bob", "User:root"
CONFIG = {
    "delegation.token.secret.key": "secret",
    "delegation.token.expiry.time.ms": "1000",
    "delegation.token.max.lifetime.ms": "3000",
}


class Bench:
    def __init__(self, cluster: Cluster, world: World) -> None:
        self.cluster = cluster
        self.world = world

    @property
    def tokens(self) -> TokenControl:
        return self.cluster.controller.controls.tokens

    @property
    def now_ms(self) -> int:
        return self.cluster.controller.now_ms()

    def refusal(self, call: Callable[[], object]) -> ErrorCode:
        with pytest.raises(TokenRefused) as refused:
            call()
        return refused.value.error_code


@pytest.fixture
def bench() -> Iterator[Callable[..., Bench]]:
    clusters: list[Cluster] = []

    def start(release: str = "4.3.1", **config: str) -> Bench:
        world = World(1)
        given = CONFIG | {name.replace("_", "."): value for name, value in config.items()}
        cluster = Cluster(
            reactor=world.reactor, streams=world.streams, brokers=1, listen=False, release=release, config=given
        )
        clusters.append(cluster)
        cluster.start()
        return Bench(cluster, world)

    yield start
    for cluster in clusters:
        cluster.close()


def test_tokens_are_records_that_every_node_replays(bench: Callable[..., Bench]) -> None:
    made = bench()
    token = made.tokens.create(ANN, ROOT, [BOB], 2000)
    assert (token.owner, token.requester, token.renewers) == (ANN, ROOT, (BOB,))
    assert (token.max_ms - made.now_ms, token.expires_ms - made.now_ms) == (2000, 1000)
    image = made.cluster.controller.image
    replayed = replay(MetadataImage.empty("c"), [each.message for each in image_records(image)], version=1)
    assert replayed.tokens == image.tokens == {token.token_id: token}
    made.tokens.expire(made.tokens.hmac_of(token), ANN, -1)
    assert made.cluster.controller.image.tokens == {}


def test_a_token_lives_as_long_as_it_may(bench: Callable[..., Bench]) -> None:
    tokens = bench().tokens
    lives = [(token.max_ms - token.issued_ms, token.expires_ms - token.issued_ms)
             for token in (tokens.create(ANN, ANN, (), wanted_ms) for wanted_ms in (-1, 0, 500, 9000))]  # fmt: skip
    assert lives == [(3000, 1000), (3000, 1000), (500, 500), (3000, 1000)]


def test_a_renewal_ends_with_the_life(bench: Callable[..., Bench]) -> None:
    made = bench()
    token = made.tokens.create(ANN, ROOT, [BOB], -1)
    digest = made.tokens.hmac_of(token)
    made.world.reactor.run_for(ms=900)
    assert [made.tokens.renew(digest, BOB, wanted_ms) - made.now_ms for wanted_ms in (-5, 0, 400, 5000)] == [
        1000, 1000, 400, 1000,
    ]  # fmt: skip
    for _ in range(2):
        made.world.reactor.run_for(ms=900)
        expires_ms = made.tokens.renew(digest, ANN, -1)
    assert expires_ms == token.max_ms
    assert made.refusal(lambda: made.tokens.renew(digest, ROOT, -1)) is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    made.world.reactor.run_for(ms=400)
    for who in (ANN, "User:eve"):
        assert made.refusal(lambda who=who: made.tokens.renew(digest, who, -1)) is ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert made.refusal(lambda: made.tokens.renew(b"x", ANN, -1)) is ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_an_expired_token_can_only_be_removed(bench: Callable[..., Bench]) -> None:
    made = bench()
    digest = made.tokens.hmac_of(made.tokens.create(ANN, ROOT, [BOB], -1))
    assert made.tokens.expire(digest, BOB, 200) == made.now_ms + 200
    made.world.reactor.run_for(ms=300)
    assert made.refusal(lambda: made.tokens.expire(digest, ROOT, 1)) is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert made.refusal(lambda: made.tokens.expire(digest, ANN, 1)) is ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert made.tokens.expire(digest, ANN, -1) == made.now_ms
    assert made.refusal(lambda: made.tokens.expire(digest, ANN, -1)) is ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_renewers_are_users(bench: Callable[..., Bench]) -> None:
    made = bench()
    refusal = made.refusal(lambda: made.tokens.create(ANN, ANN, [BOB, "Group:x"], -1))
    assert refusal is ErrorCode.INVALID_PRINCIPAL_TYPE


@pytest.mark.parametrize(("release", "overflows"), [("3.7.2", True), ("4.3.1", False)])
def test_the_longest_time_wraps_around_in_older_releases(
    bench: Callable[..., Bench], release: str, *, overflows: bool
) -> None:
    made = bench(release)
    token = made.tokens.create(ANN, ANN, (), -1)
    expires_ms = made.tokens.expire(made.tokens.hmac_of(token), ANN, 2**63 - 1)
    assert expires_ms == (made.now_ms - 2**63 - 1 if overflows else token.max_ms)


def test_tokens_need_a_secret_and_a_metadata_version(bench: Callable[..., Bench]) -> None:
    made = bench(delegation_token_secret_key="")
    assert made.refusal(lambda: made.tokens.create(ANN, ANN, (), -1)) is ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    old = bench("3.5")
    assert old.refusal(lambda: old.tokens.renew(b"x", ANN, -1)) is ErrorCode.UNSUPPORTED_VERSION
    old.tokens.remove_expired()

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from broker_sim.apis.fetch_sessions import FetchContext, FetchSessionCache, InvalidSession, SessionKey, session_key
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.fetch import FetchPartition, PartitionData

EVICTION_MS = 1000


def key(partition: int) -> SessionKey:
    return session_key(bytes(16), "orders", partition, 12)


def partitions_of(*partitions: int) -> dict[SessionKey, FetchPartition]:
    return {key(index): FetchPartition(partition=index, partition_max_bytes=1) for index in partitions}


def data(index: int, **fields: Any) -> PartitionData:
    return PartitionData(**({"partition_index": index, "high_watermark": 5, "log_start_offset": 0} | fields))


class Client:
    """A client of one session: makes fetch contexts and their responses."""

    def __init__(self, cache: FetchSessionCache, *, follower: bool = False) -> None:
        self.cache = cache
        self.follower = follower
        self.now_ms = 0

    def context(self, session_id: int, epoch: int, *partitions: int, version: int = 12, **more: Any) -> FetchContext:
        return self.cache.context_of(
            session_id=session_id,
            epoch=epoch,
            version=version,
            partitions=partitions_of(*partitions),
            forgotten=[key(index) for index in more.get("forgotten", ())],
            from_follower=self.follower,
            now_ms=self.now_ms,
        )

    def respond(self, context: FetchContext, **fields: Any) -> tuple[ErrorCode, int, list[int]]:
        updates = {known: data(known.partition, **fields) for known in context.partitions}
        error, session_id, named = context.session_response(updates, uses_topic_ids=False, now_ms=self.now_ms)
        return error, session_id, [known.partition for known in named]

    def open(self, *partitions: int) -> int:
        return self.respond(self.context(0, 0, *partitions))[1]


@pytest.fixture
def cache() -> FetchSessionCache:
    return FetchSessionCache(slots=2, random=Random(1), eviction_ms=EVICTION_MS)


@pytest.fixture
def client(cache: FetchSessionCache) -> Client:
    return Client(cache)


def test_what_has_not_changed_is_not_named(client: Client) -> None:
    session_id = client.open(0, 1)
    assert client.respond(client.context(session_id, 1)) == (ErrorCode.NONE, session_id, [])


@pytest.mark.parametrize(
    "change",
    [
        {"high_watermark": 6},
        {"log_start_offset": 1},
        {"records": [b"batch"]},
        {"error_code": 3},
        {"preferred_read_replica": 2},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_has_changed_is_named(client: Client, change: dict[str, Any]) -> None:
    session_id = client.open(0)
    assert client.respond(client.context(session_id, 1), **change) == (ErrorCode.NONE, session_id, [0])


def test_a_partition_is_named_again_when_its_error_is_over(client: Client) -> None:
    session_id = client.open(0)
    client.respond(client.context(session_id, 1), error_code=3)
    assert client.respond(client.context(session_id, 2))[2] == [0]


def test_a_partition_with_records_is_read_last_next_time(client: Client) -> None:
    session_id = client.open(0, 1)
    context = client.context(session_id, 1)
    context.session_response({key(0): data(0, records=[b"batch"]), key(1): data(1)}, uses_topic_ids=False, now_ms=0)
    assert [known.partition for known in client.context(session_id, 2).partitions] == [1, 0]


def test_partitions_are_added_changed_and_forgotten(client: Client) -> None:
    session_id = client.open(0, 1)
    context = client.context(session_id, 1, 2, forgotten=[0, 33])
    assert [known.partition for known in context.partitions] == [1, 2]


def test_a_session_without_partitions_ends(client: Client) -> None:
    session_id = client.open(0)
    assert client.respond(client.context(session_id, 1, forgotten=[0])) == (ErrorCode.NONE, 0, [])
    assert len(client.cache) == 0


@pytest.mark.parametrize("epoch", [0, 2, 7])
def test_only_the_next_epoch_continues(client: Client, epoch: int) -> None:
    session_id = client.open(0)
    context = client.context(session_id, epoch)
    expected = ErrorCode.NONE if epoch == 0 else ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert context.error_code is expected


def test_a_full_request_closes_the_session_that_it_names(client: Client) -> None:
    first = client.open(0)
    second = client.respond(client.context(first, 0, 0))[1]
    assert second not in {0, first}
    assert client.context(first, 1).error_code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert client.respond(client.context(second, -1, 0)) == (ErrorCode.NONE, 0, [0])
    assert len(client.cache) == 0


def test_names_and_ids_do_not_mix_in_a_session(client: Client) -> None:
    session_id = client.open(0)
    assert client.context(session_id, 1, version=13).error_code is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_second_request_of_the_same_epoch_invalidates_the_first_response(client: Client) -> None:
    session_id = client.open(0)
    waiting = client.context(session_id, 1)
    client.context(session_id, 2)
    assert client.respond(waiting)[0] is ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_a_full_cache_opens_no_session_for_a_newcomer(client: Client) -> None:
    assert client.open(0) > 0
    assert client.open(0) > 0
    assert client.open(0, 1, 2) == 0


def test_a_stale_session_gives_way(client: Client) -> None:
    stale = client.open(0, 1, 2)
    client.now_ms = EVICTION_MS
    fresh = client.open(0)
    client.now_ms = EVICTION_MS + 1
    assert client.open(0) > 0
    assert client.context(stale, 1).error_code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert client.context(fresh, 1).error_code is ErrorCode.NONE


def test_a_follower_evicts_the_smallest_consumer(cache: FetchSessionCache) -> None:
    consumer = Client(cache)
    large, small = consumer.open(0, 1, 2), consumer.open(0)
    assert Client(cache, follower=True).open(0) > 0
    assert consumer.context(small, 1).error_code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert consumer.context(large, 1).error_code is ErrorCode.NONE


def test_a_consumer_does_not_evict_followers(cache: FetchSessionCache) -> None:
    follower = Client(cache, follower=True)
    follower.open(0)
    follower.open(0)
    assert Client(cache).open(0, 1, 2) == 0


def test_epochs_start_again_after_the_last_one(client: Client) -> None:
    session_id = client.open(0)
    context = client.context(session_id, 1)
    assert context.session is not None
    context.session.epoch = 2**31 - 1
    assert client.context(session_id, 2**31 - 1).error_code is ErrorCode.NONE
    assert context.session.epoch == 1


SHARD_IDS = (2**31 - 1) // 8


@pytest.fixture
def sharded() -> Client:
    return Client(FetchSessionCache(slots=16, random=Random(1), shards=8))


def test_new_sessions_take_turns_at_the_shards(sharded: Client) -> None:
    assert [sharded.open(0) // SHARD_IDS for _ in range(10)] == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]


def test_each_shard_has_its_share_of_the_slots(sharded: Client) -> None:
    opened = [sharded.open(0) for _ in range(24)]
    assert [session > 0 for session in opened] == [True] * 16 + [False] * 8
    assert len(sharded.cache) == 16


@pytest.mark.parametrize("session_id", [8 * SHARD_IDS, 2**31 - 1, -SHARD_IDS, -(2**31)])
@pytest.mark.parametrize("epoch", [-1, 0, 1])
def test_an_id_out_of_every_shard_is_an_error(sharded: Client, session_id: int, epoch: int) -> None:
    with pytest.raises(InvalidSession, match=f"session id {session_id} is in no shard"):
        sharded.context(session_id, epoch, 0)


@pytest.mark.parametrize("session_id", [8 * SHARD_IDS - 1, -1, 1 - SHARD_IDS])
def test_other_ids_are_only_not_found(sharded: Client, session_id: int) -> None:
    assert sharded.respond(sharded.context(session_id, 1, 0)) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, [])


def test_a_partition_without_a_topic_id_fails_where_its_hash_needs_one() -> None:
    cache = FetchSessionCache(slots=2, random=Random(1), zero_ids_fail=True)
    nameless = {session_key(bytes(16), "", 0, 13): FetchPartition(partition=0, partition_max_bytes=1)}
    fields: dict[str, Any] = {"forgotten": [], "from_follower": False, "now_ms": 0}
    context = cache.context_of(session_id=0, epoch=0, version=13, partitions=nameless, **fields)
    with pytest.raises(InvalidSession, match="without a topic id"):
        context.session_response({known: data(0) for known in nameless}, uses_topic_ids=True, now_ms=0)
    named = {session_key(b"1" * 16, "", 0, 13): FetchPartition(partition=0, partition_max_bytes=1)}
    opened = cache.context_of(session_id=0, epoch=0, version=13, partitions=named, **fields)
    session_id = opened.session_response({known: data(0) for known in named}, uses_topic_ids=True, now_ms=0)[1]
    with pytest.raises(InvalidSession, match="without a topic id"):
        cache.context_of(session_id=session_id, epoch=1, version=13, partitions=nameless, **fields)

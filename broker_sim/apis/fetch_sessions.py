"""Fetch sessions: what a client fetches, remembered between requests (KIP-227). Mirrors FetchManager and FetchSession.

A full request (epoch 0) opens a session; an incremental one (epoch 1, 2, ...) and its response contain only
changes. A full request that names a session closes it; epoch -1 closes without opening a new one. The
cache holds max.incremental.fetch.session.cache.slots sessions: a newcomer evicts one that was unused for
min.incremental.fetch.session.eviction.ms, else a follower's session evicts a consumer's, else a larger one a smaller
one that is old enough; if none can be evicted, the response has session id 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.errors import BrokerSimError
from protocol_specs.error_codes import ErrorCode
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from random import Random

    from protocol_specs.messages.fetch import FetchPartition, PartitionData

__all__ = ["FetchContext", "FetchSession", "FetchSessionCache", "InvalidSession", "SessionKey"]

INVALID_SESSION_ID: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
MAX_EPOCH: Final = 2**31 - 1
EVICTION_MS: Final = 120_000
"""min.incremental.fetch.session.eviction.ms, which is not configurable on a broker either."""
TOPIC_IDS_LOWEST: Final = 13


class SessionKey(NamedTuple):
    """One partition as a session knows it: by topic id (name "") or by name (zero id)."""

    topic_id: bytes
    topic: str
    partition: int


@dataclass(slots=True, kw_only=True)
class CachedPartition:
    """The last requested and the last returned state of one partition."""

    request: FetchPartition
    high_watermark: int = -1
    log_start_offset: int = -1


@dataclass(slots=True, kw_only=True)
class FetchSession:
    """One client's session. `privileged` is a follower's."""

    id: int
    privileged: bool
    uses_topic_ids: bool
    created_ms: int
    last_used_ms: int
    epoch: int
    partitions: dict[SessionKey, CachedPartition]
    names: dict[SessionKey, str]
    """The topics of partitions that are known by id; they stay when a topic is deleted."""


class FetchContext:
    """One Fetch seen through its session. Mirrors FullFetchContext, IncrementalFetchContext and the others."""

    __slots__ = ("_cache", "_expected_epoch", "_opens", "_privileged", "error_code", "names", "partitions", "session")

    def __init__(
        self,
        cache: FetchSessionCache,
        partitions: Mapping[SessionKey, FetchPartition],
        *,
        error_code: ErrorCode = ErrorCode.NONE,
        session: FetchSession | None = None,
        opens: bool = False,
        privileged: bool = False,
    ) -> None:
        self._cache = cache
        self._opens = opens
        self._privileged = privileged
        self.error_code = error_code
        self.session = session
        self.partitions = partitions
        """All partitions that this request fetches, those of the session included."""
        self.names: dict[SessionKey, str] = {} if session is None else session.names
        """The known topics by id; a lookup adds to it."""
        self._expected_epoch = session.epoch if session is not None else 0

    def would_name(self, updates: dict[SessionKey, PartitionData]) -> dict[SessionKey, PartitionData]:
        """Return the partitions that the response would name, without a change to the session."""
        if self.error_code:
            return {}
        if self.session is None:
            return updates
        cached = self.session.partitions
        return {key: data for key, data in updates.items() if key in cached and _is_changed(cached[key], data)}

    def throttled_response(self) -> tuple[ErrorCode, int]:
        """Return the error and the session id of an empty response. Mirrors FetchContext.getThrottledResponse."""
        if self.session is None:
            return self.error_code, INVALID_SESSION_ID
        if self.session.epoch != self._expected_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH, self.session.id
        return ErrorCode.NONE, self.session.id

    def session_response(
        self, updates: dict[SessionKey, PartitionData], *, uses_topic_ids: bool, now_ms: int
    ) -> tuple[ErrorCode, int, dict[SessionKey, PartitionData]]:
        """Return the error, the session id and the partitions that the response names."""
        if self.error_code:
            return self.error_code, INVALID_SESSION_ID, {}
        if self._opens:
            partitions = {
                key: CachedPartition(
                    request=self.partitions[key],
                    high_watermark=data.high_watermark,
                    log_start_offset=data.log_start_offset,
                )
                for key, data in updates.items()
            }
            session_id = self._cache.open(
                partitions, self.names, privileged=self._privileged, uses_topic_ids=uses_topic_ids, now_ms=now_ms
            )
            return ErrorCode.NONE, session_id, updates
        if self.session is None:
            return ErrorCode.NONE, INVALID_SESSION_ID, updates
        if self.session.epoch != self._expected_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH, self.session.id, {}
        return ErrorCode.NONE, self.session.id, _changed(self.session, updates)


class InvalidSession(BrokerSimError):
    """A request that fails in Kafka's session cache: the whole request gets UNKNOWN_SERVER_ERROR."""


class FetchSessionCache:
    """A broker's sessions. Mirrors FetchSessionCache.

    With several `shards` each has its share of the slots and its range of session ids, and new sessions take turns.
    """

    def __init__(
        self,
        *,
        slots: int,
        random: Random,
        eviction_ms: int = EVICTION_MS,
        shards: int = 1,
        zero_ids_fail: bool = False,
    ) -> None:
        self.slots = slots // shards
        self.eviction_ms = eviction_ms
        self.evictions = 0
        self._random = random
        self._zero_ids_fail = zero_ids_fail
        self._ids_of_a_shard = (MAX_EPOCH if shards > 1 else MAX_EPOCH + 1) // shards
        self._shards: list[dict[int, FetchSession]] = [{} for _ in range(shards)]
        self._next_shard = 0

    def __len__(self) -> int:
        return sum(map(len, self._shards))

    def _shard_of(self, session_id: int) -> dict[int, FetchSession]:
        number = int(session_id / self._ids_of_a_shard)
        if len(self._shards) == 1:
            number = 0
        elif not 0 <= number < len(self._shards):
            msg = f"session id {session_id} is in no shard of the cache"
            raise InvalidSession(msg)
        return self._shards[number]

    def _refuse_zero_ids(self, version: int, keys: Iterable[SessionKey]) -> None:
        """Used where the hash of a cached partition without an id needs its topic's name."""
        if self._zero_ids_fail and version >= TOPIC_IDS_LOWEST and any(key.topic_id == ZERO_UUID for key in keys):
            msg = "a session cannot hold a partition without a topic id"
            raise InvalidSession(msg)

    def context_of(
        self,
        *,
        session_id: int,
        epoch: int,
        version: int,
        partitions: Mapping[SessionKey, FetchPartition],
        forgotten: Sequence[SessionKey],
        from_follower: bool,
        now_ms: int,
    ) -> FetchContext:
        """Find, change or close the session that a request names. Mirrors FetchManager.newContext.

        Raises:
            InvalidSession: Kafka's session cache fails on the request.
        """
        if epoch in {INITIAL_EPOCH, FINAL_EPOCH}:
            if session_id != INVALID_SESSION_ID:
                self._shard_of(session_id).pop(session_id, None)
            return FetchContext(self, partitions, opens=epoch == INITIAL_EPOCH, privileged=from_follower)
        sessions = self._shard_of(session_id)
        session = sessions.get(session_id)
        if session is None:
            return FetchContext(self, {}, error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            return FetchContext(self, {}, error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != (version >= TOPIC_IDS_LOWEST):
            return FetchContext(self, {}, error_code=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        self._refuse_zero_ids(version, (*partitions, *forgotten))
        for key, request in partitions.items():
            cached = session.partitions.get(key)
            if cached is None:
                session.partitions[key] = CachedPartition(request=request)
            else:
                cached.request = request
        for key in forgotten:
            session.partitions.pop(key, None)
            session.names.pop(key, None)
        if not session.partitions:
            del sessions[session_id]
            return FetchContext(self, partitions)
        session.last_used_ms = now_ms
        session.epoch = 1 if session.epoch == MAX_EPOCH else session.epoch + 1
        everything = {key: cached.request for key, cached in session.partitions.items()}
        return FetchContext(self, everything, session=session)

    def open(
        self,
        partitions: dict[SessionKey, CachedPartition],
        names: dict[SessionKey, str],
        *,
        privileged: bool,
        uses_topic_ids: bool,
        now_ms: int,
    ) -> int:
        """Return the id of a new session, 0 if the cache has no room for it.

        Raises:
            InvalidSession: Kafka's session cache fails on the request.
        """
        number = self._next_shard
        self._next_shard = (number + 1) % len(self._shards)
        sessions = self._shards[number]
        if len(sessions) >= self.slots and not self._evict(
            sessions, len(partitions), privileged=privileged, now_ms=now_ms
        ):
            return INVALID_SESSION_ID
        self._refuse_zero_ids(TOPIC_IDS_LOWEST if uses_topic_ids else 0, partitions)
        session_id = INVALID_SESSION_ID
        while session_id == INVALID_SESSION_ID or session_id in sessions:
            ids = self._ids_of_a_shard
            session_id = self._random.randrange(max(1, number * ids), (number + 1) * ids)
        sessions[session_id] = FetchSession(
            id=session_id,
            privileged=privileged,
            uses_topic_ids=uses_topic_ids,
            created_ms=now_ms,
            last_used_ms=now_ms,
            epoch=INITIAL_EPOCH + 1,
            partitions=partitions,
            names=names,
        )
        return session_id

    def _evict(self, sessions: dict[int, FetchSession], size: int, *, privileged: bool, now_ms: int) -> bool:
        if not sessions:
            return False
        stale = min(sessions.values(), key=lambda session: (session.last_used_ms, session.id))
        victim: FetchSession | None = stale
        if now_ms - stale.last_used_ms <= self.eviction_ms:
            victim = self._least_valuable(sessions, privileged=privileged, now_ms=now_ms)
            if victim is not None and (privileged, size, 0) < _value_of(victim):
                victim = None
        if victim is None:
            return False
        del sessions[victim.id]
        self.evictions += 1
        return True

    def _least_valuable(
        self, sessions: dict[int, FetchSession], *, privileged: bool, now_ms: int
    ) -> FetchSession | None:
        """A follower may evict any consumer's session; other clients only sessions that are old enough."""
        candidates = [
            session
            for session in sessions.values()
            if now_ms - session.created_ms > self.eviction_ms or (privileged and not session.privileged)
        ]
        return min(candidates, key=_value_of, default=None)


def session_key(topic_id: bytes, topic: str, partition: int, version: int) -> SessionKey:
    """The key of a partition in requests of a version."""
    if version >= TOPIC_IDS_LOWEST:
        return SessionKey(topic_id, "", partition)
    return SessionKey(ZERO_UUID, topic, partition)


def _value_of(session: FetchSession) -> tuple[bool, int, int]:
    return session.privileged, len(session.partitions), session.id


def _is_changed(cached: CachedPartition, data: PartitionData) -> bool:
    return bool(
        data.records
        or data.error_code
        or data.high_watermark != cached.high_watermark
        or data.log_start_offset != cached.log_start_offset
        or data.preferred_read_replica >= 0
        or data.diverging_epoch.epoch >= 0
    )


def _changed(session: FetchSession, updates: dict[SessionKey, PartitionData]) -> dict[SessionKey, PartitionData]:
    """Return the partitions of an incremental response; those with data move to the end, so that none starves."""
    changed = {}
    for key, data in updates.items():
        cached = session.partitions.get(key)
        if cached is None:
            continue
        has_records = bool(data.records)
        if _is_changed(cached, data):
            changed[key] = data
        # After an error the partition is named again when it has recovered.
        cached.high_watermark = -1 if data.error_code else data.high_watermark
        cached.log_start_offset = data.log_start_offset
        if has_records:
            del session.partitions[key]
            session.partitions[key] = cached
    return changed

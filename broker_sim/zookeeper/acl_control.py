"""The access control entries of one broker in ZooKeeper mode: its cache, and CreateAcls and DeleteAcls.

Mirrors AclAuthorizer, and before 2.4 SimpleAclAuthorizer. Every broker serves the requests. It writes the znode of each
pattern under the version that it knows, reads the znode again after a conflict, and notifies the other brokers.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import DeferredLock

from broker_sim.apis.acl_requests import acl_of, filter_of
from broker_sim.apis.create_acls import created_acls
from broker_sim.apis.delete_acls import deleted_acls
from broker_sim.config.api_error import ApiError
from broker_sim.controller.acl_control import DeletedAcls
from broker_sim.security.acl import PatternType, ResourceType
from broker_sim.zookeeper.acl_refusals import creation_refusal, filter_refusals, has_type, principal_text
from broker_sim.zookeeper.acl_znodes import ResourcePattern, VersionedAcls, pattern_of
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_acls import CreateAclsRequest
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from random import Random

    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.security.acl import Acl, AclFilter
    from broker_sim.zookeeper.acl_store import AclChanges
    from broker_sim.zookeeper.zookeeper_client import ZooKeeperClient
    from protocol_specs.messages.create_acls import CreateAclsResponse
    from protocol_specs.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
    from sim_runtime.interfaces import IReactor

__all__ = ["AclCache", "ZkAclControl"]

RETRIES_MAX: Final = 10
"""Mirrors AclAuthorizer.maxUpdateRetries."""
BACKOFF_MS: Final = 100
BACKOFF_JITTER_MS: Final = 50


class AclCache:
    """The entries that a broker has read; `entries` is another object after each change."""

    def __init__(self) -> None:
        self.entries: Mapping[Any, Acl] = {}
        self.known: dict[ResourcePattern, VersionedAcls] = {}

    def update(self, acls: Mapping[ResourcePattern, VersionedAcls]) -> None:
        """Replace the entries of patterns; those without entries go."""
        self.known.update(acls)
        self.known = {pattern: stored for pattern, stored in self.known.items() if stored.acls}
        self.entries = {acl: acl for stored in self.known.values() for acl in stored.acls}


class ZkAclControl:
    """Follows the changes of the entries, and makes those that clients request, one request at a time."""

    def __init__(
        self,
        cache: AclCache,
        *,
        reactor: IReactor,
        client: ZooKeeperClient,
        random: Random,
        behaviour: ReleaseBehaviour,
        simple: bool,
    ) -> None:
        """`simple` is for SimpleAclAuthorizer."""
        self._cache = cache
        self._reactor = reactor
        self._client = client
        self._random = random
        self._behaviour = behaviour
        self._simple = simple
        self._lock = DeferredLock()
        self._newest: int | None = None

    # Reading.

    def adopt(self, everything: AclChanges) -> None:
        """Know all entries at once, as part of a cluster that starts as a whole."""
        self._newest = everything.newest
        self._cache.update(everything.acls)

    async def refresh(self) -> None:
        """Read all entries, or those that have changed since the last time.

        Raises:
            ZooKeeperError: The session has ended.
        """
        await self._lock.acquire()
        try:
            newest = self._newest
            if newest is None:
                found: AclChanges = await self._client.request(
                    "ZooKeeperGetAcls", lambda zookeeper, _: zookeeper.acls.everything()
                )
            else:
                found = await self._client.request(
                    "ZooKeeperGetAclChanges", lambda zookeeper, _: zookeeper.acls.changes_after(newest)
                )
            self.adopt(found)
        finally:
            self._lock.release()

    # Changes.

    async def respond(self, request: CreateAclsRequest | DeleteAclsRequest) -> CreateAclsResponse | DeleteAclsResponse:
        """Serve a request.

        Raises:
            ZooKeeperError: The session has ended.
        """
        if isinstance(request, CreateAclsRequest):
            return created_acls(await self.create([acl_of(each, self._behaviour) for each in request.creations]))
        return deleted_acls(await self.delete([filter_of(each, self._behaviour) for each in request.filters]))

    async def create(self, creations: Sequence[Acl]) -> list[ApiError]:
        """Create the valid entries; return one result per entry.

        Raises:
            ZooKeeperError: The session has ended.
        """
        results: list[ApiError | None] = [
            creation_refusal(acl, self._behaviour, simple=self._simple) for acl in creations
        ]
        by_pattern: dict[ResourcePattern, list[int]] = {}
        for index, (acl, refusal) in enumerate(zip(creations, results, strict=True)):
            if refusal is None:
                by_pattern.setdefault(pattern_of(acl), []).append(index)
        await self._lock.acquire()
        try:
            for pattern, indexes in by_pattern.items():
                added = [creations[index] for index in indexes]
                # A principal without a type fails all entries of the request for its pattern.
                invalid = next((acl.principal for acl in added if not has_type(acl.principal)), None)
                written = invalid is None and await self._update(pattern, partial(_with, added))
                for index in indexes:
                    results[index] = self._success if written else self._failure(invalid)
        finally:
            self._lock.release()
        return [each for each in results if each is not None]

    async def delete(self, filters: Sequence[AclFilter]) -> list[DeletedAcls]:
        """Delete the entries that any of the filters selects; return one result per filter.

        An entry is a result of the first filter that selects it.

        Raises:
            ZooKeeperError: The session has ended.
        """
        refusals = filter_refusals(filters, simple=self._simple)
        usable = [each for each, refusal in zip(filters, refusals, strict=True) if refusal is None]
        deleted: dict[AclFilter, dict[Acl, None]] = {each: {} for each in usable}
        failed: dict[AclFilter, None] = {}
        await self._lock.acquire()
        try:
            for pattern in self._patterns(usable):
                wanted = [each for each in usable if each.selects(*pattern)]
                if not wanted:
                    continue
                removed: dict[Acl, AclFilter] = {}
                written = await self._update(pattern, partial(_without, wanted, removed))
                for acl, each in removed.items():
                    deleted[each][acl] = None
                    if not written:
                        failed[each] = None
        finally:
            self._lock.release()
        results = []
        for each, refusal in zip(filters, refusals, strict=True):
            if refusal is not None:
                results.append(DeletedAcls(refusal))
            elif each in failed:
                results.append(DeletedAcls(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)))
            else:
                results.append(DeletedAcls(ApiError(ErrorCode.NONE), tuple(deleted.pop(each, {}))))
        return results

    @property
    def _success(self) -> ApiError:
        return ApiError(ErrorCode.NONE, "" if self._behaviour.acl_messages_are_generated else None)

    def _failure(self, invalid: str | None) -> ApiError:
        """Return the error of entries that could not be written; `invalid` is a principal without a type."""
        text = None
        if invalid is not None and self._behaviour.unknown_errors_have_texts:
            text = f"java.lang.IllegalArgumentException: {principal_text(invalid)}"
        return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, text)

    def _patterns(self, filters: Iterable[AclFilter]) -> list[ResourcePattern]:
        """Return the patterns that filters may select: the known ones, and those that a filter names exactly."""
        named = [
            ResourcePattern(each.resource_type, each.resource_name, each.pattern_type)
            for each in filters
            if each.resource_name is not None
            and each.resource_type not in {ResourceType.UNKNOWN, ResourceType.ANY}
            and each.pattern_type in {PatternType.LITERAL, PatternType.PREFIXED}
        ]
        return list(dict.fromkeys([*self._cache.known, *named]))

    async def _update(self, pattern: ResourcePattern, change: Callable[[tuple[Acl, ...]], tuple[Acl, ...]]) -> bool:
        """Apply a change to the entries of a pattern; return False after too many conflicts with other brokers."""
        current = self._cache.known.get(pattern)
        for attempt in range(RETRIES_MAX + 1):
            if attempt:
                await sleep(self._reactor, BACKOFF_MS + self._random.randrange(BACKOFF_JITTER_MS))
            if attempt or current is None:
                current = await self._read(pattern)
            wanted = change(current.acls)
            version = await self._write(pattern, wanted, current.version)
            if version is not None:
                self._cache.update({pattern: VersionedAcls(wanted, version)})
                if wanted != current.acls:
                    await self._note_change(pattern)
                return True
        return False

    async def _read(self, pattern: ResourcePattern) -> VersionedAcls:
        stored: VersionedAcls = await self._client.request(
            "ZooKeeperGetAcls", lambda zookeeper, _: zookeeper.acls.read(pattern)
        )
        return stored

    async def _write(self, pattern: ResourcePattern, acls: tuple[Acl, ...], version: int) -> int | None:
        written: int | None = await self._client.request(
            "ZooKeeperSetAcls", lambda zookeeper, _: zookeeper.acls.write(pattern, acls, version)
        )
        return written

    async def _note_change(self, pattern: ResourcePattern) -> None:
        await self._client.request("ZooKeeperCreateAclChange", lambda zookeeper, _: zookeeper.acls.note_change(pattern))


def _with(added: list[Acl], acls: tuple[Acl, ...]) -> tuple[Acl, ...]:
    return tuple(dict.fromkeys([*acls, *added]))


def _without(filters: list[AclFilter], removed: dict[Acl, AclFilter], acls: tuple[Acl, ...]) -> tuple[Acl, ...]:
    """Note in `removed` the first filter that selects each entry; return the other entries."""
    for acl in acls:
        selecting = next((each for each in filters if each.matches(acl)), None)
        if selecting is not None:
            removed.setdefault(acl, selecting)
    return tuple(acl for acl in acls if acl not in removed)

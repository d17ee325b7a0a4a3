"""Subscriptions by regular expression: checked at once, resolved in the background, refreshed with new topics.

Mirrors maybeUpdateRegularExpressions, refreshRegularExpressions and handleRegularExpressionsResult.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from twisted.logger import Logger

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.consumer import consumer_records
from broker_sim.coordinators.groups.consumer.consumer_group import NOT_RESOLVED, ConsumerGroup, ResolvedRegex
from broker_sim.coordinators.groups.consumer.member_update import REFRESH_MS, epoch_records
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from broker_sim.regular_expressions.matching import InvalidRegex, TooManyPlaces, check_regex, matching_texts
from broker_sim.security.acl import AclOperation
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import (
    hash_order,
    hash_order_of_computed,
    hash_order_of_sized,
    string_hash,
    timeline_order,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from broker_sim.coordinators.groups.consumer.consumer_config import ConsumerConfig
    from broker_sim.coordinators.groups.consumer.member_update import MemberUpdate
    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.runtime.shard import ShardContext
    from broker_sim.security.access import Access

__all__ = ["RegexSubscriptions"]

_SHORTEST_REFRESH_MS: Final = 10_000

_log = Logger()


@dataclass(frozen=True, slots=True)
class _LastRefresh:
    timestamp_ms: int
    version: int


class RegexSubscriptions:
    """The expressions of all groups of one shard."""

    def __init__(self, context: ShardContext, config: ConsumerConfig, groups: GroupRegistry) -> None:
        self._context = context
        self._config = config
        self._groups = groups
        self._topics = frozenset(context.host.metadata_cache.image.topics)
        self._version_with_new_topics = context.host.metadata_cache.image.version

    def image_changed(self) -> None:
        """Remember the version of the metadata that has new topics: the next heartbeats refresh expressions."""
        image = self._context.host.metadata_cache.image
        topics = frozenset(image.topics)
        if not topics <= self._topics:
            self._version_with_new_topics = image.version
        self._topics = topics

    def update(self, update: MemberUpdate) -> None:
        """Check and record the expression of a changed member; request a refresh if one is due.

        Raises:
            CoordinatorError: INVALID_REGULAR_EXPRESSION.
        """
        group = update.group
        old, new = update.old.subscribed_topic_regex or "", update.new.subscribed_topic_regex or ""
        refresh = False
        if old != new:
            if old and group.regex_subscribers.get(old) == 1:
                update.records.append(consumer_records.regex_tombstone(group.group_id, old))
            if new and new not in group.regex_subscribers:
                _check(new)
                refresh = True
            elif not new or new in group.regexes:
                update.epoch_needed = True
        if not refresh and not group.regex_subscribers:
            return
        if self._context.timers.is_scheduled(_key(group.group_id)):
            return
        last = _last_refresh(group)
        now_ms = self._context.now_ms()
        if now_ms <= last.timestamp_ms + _SHORTEST_REFRESH_MS:
            return
        subscribed = group.regex_subscribers_with([update.old], update.new)
        refresh = (
            refresh
            or len(subscribed) != len(group.regexes)
            or last.version < self._version_with_new_topics
            or now_ms > last.timestamp_ms + self._config.regex_refresh_ms
        )
        if refresh and subscribed:
            alone = old == new and group.regex_subscribers.get(new) == 1
            added = new if alone or new not in group.regex_subscribers else ""
            regexes, access = _listed(group.regex_subscribers.keys(), added, subscribed), update.access
            self._context.timers.schedule(
                _key(group.group_id), 0, lambda: self._resolve(group.group_id, regexes, access), retry=False
            )

    def _resolve(self, group_id: str, regexes: list[str], access: Access | None) -> CoordinatorResult[None]:
        """Return the records of the expressions, and those of a new epoch if other topics match.

        An expression matches only topics that the client of the heartbeat may describe. If the stack of RE2J would
        overflow at one of them, none is resolved.
        """
        group = self._groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            return CoordinatorResult([], None)
        image, now_ms = self._context.host.metadata_cache.image, self._context.now_ms()
        records: list[Any] = []
        resolved_now: dict[str, ResolvedRegex] = {}
        changed = False
        for regex in regexes:
            if regex not in group.regex_subscribers:
                continue
            try:
                topics = matching_texts(regex, image.topics)
            except TooManyPlaces as error:
                _log.error(
                    "group {group}: {regex!r} cannot be resolved: {error}", group=group_id, regex=regex, error=error
                )
                return CoordinatorResult([], None)
            if access is not None:
                topics = frozenset(access.topics(AclOperation.DESCRIBE, topics))
            resolved = ResolvedRegex(topics, image.version, now_ms)
            resolved_now[regex] = resolved
            changed = changed or resolved.topics != (group.regexes.get(regex) or NOT_RESOLVED).topics
            records.append(consumer_records.regex_record(group_id, regex, resolved))
        everything = set(group.subscribers).union(*(found.topics for found in resolved_now.values()))
        fingerprint = self._config.fingerprint(hash_order(sorted(everything)))
        metadata_changed = (fingerprint or None) != (group.metadata.get() or None)
        if changed or metadata_changed:
            epoch = group.group_epoch.get() + 1
            records += epoch_records(group, epoch, fingerprint, changed=metadata_changed)
            group.refresh_metadata_at(now_ms + REFRESH_MS, epoch)
        return CoordinatorResult(records, None)


def _listed(known: list[str], added: str, subscribed: Collection[str]) -> list[str]:
    """Return the subscribed expressions in the order of Kafka's maps: of the group, then a copy, then the result.

    `added` is the expression that is put into the copy: that of the member, if no other member has it, is removed and
    put again even if it is unchanged.
    """
    copied = [known[place] for place in timeline_order([string_hash(regex) for regex in known])]
    changed = hash_order_of_computed(copied, added or None)
    return hash_order_of_sized([regex for regex in changed if regex in subscribed], len(subscribed))


def _check(regex: str) -> None:
    try:
        check_regex(regex)
    except InvalidRegex as error:
        raise CoordinatorError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}.",
        ) from error


def _last_refresh(group: ConsumerGroup) -> _LastRefresh:
    """Return the time and version of the refresh; an expression that was resolved before has those of its own."""
    resolved = group.regexes.values()
    if not resolved:
        return _LastRefresh(-(2**62), -1)
    return _LastRefresh(max(each.timestamp_ms for each in resolved), max(each.version for each in resolved))


def _key(group_id: str) -> str:
    return f"{group_id}-regex"

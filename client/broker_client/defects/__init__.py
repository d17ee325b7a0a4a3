"""Documented bugs of Kafka clients, for scenarios that show what they do to data. No client has one by default.

    ProducerCore(config, reactor, random, defects=("no-mute",))
    ClientCore(options, reactor, random, defects=("read-from-batch-start",))  # and the ConsumerCore on it

Producer, Consumer and Admin have no option for them.
"""

from __future__ import annotations

from dataclasses import fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from broker_client.errors import ConfigError
from protocol_specs.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from broker_client.core.client_parts import NetworkParts
    from broker_client.defects.defect import Defect

__all__ = ["DEFECTS", "applied"]

MODULES: Final = (
    "order.no_mute",
    "order.retry_behind_newer",
    "order.unmutes_before_retry",
    "sequences.bump_rewrites_all_partitions",
    "sequences.forgets_sequences_of_unknown_topics",
    "sequences.reuses_sequence_of_failed_batch",
    "sequences.sequence_error_is_fatal",
    "sequences.sequence_starts_near_wrap",
    "sequences.sequence_wraps_to_negative",
    "sequences.retry_splits_batch",
    "sequences.in_flight_by_sequence_alone",
    "sequences.stale_epoch_in_request",
    "outcomes.drops_records_of_unknown_topics",
    "outcomes.topic_without_partitions_succeeds",
    "outcomes.unknown_topic_is_final",
    "outcomes.close_forgets_buffer",
    "limits.sticky_partition_per_batch",
    "limits.unbounded_buffer",
    "limits.abandoned_wait_keeps_memory",
    "limits.split_frees_memory_twice",
    "limits.flush_in_callback_blocks",
    "limits.ignores_throttle_time",
    "limits.writes_block_the_sender",
    "outcomes.missing_partition_hangs",
    "outcomes.completes_a_batch_twice",
    "network.reuses_buffer_of_unwritten_batch",
    "metadata.requests_metadata_of_all_topics",
    "metadata.no_leader_epoch_check",
    "metadata.refreshes_until_the_epoch_changes",
    "metadata.metadata_stay_on_one_node",
    "metadata.first_partition_error_waits_for_max_age",
    "metadata.one_connection_per_address",
    "network.forgets_the_version_check",
    "network.eof_is_fatal",
    "network.keeps_connection_after_timeout",
    "network.no_request_timeout",
    "network.no_receive_limit",
    "network.no_reconnect_backoff",
    "transactions.refused_commit_succeeds",
    "transactions.unknown_error_is_a_commit",
    "transactions.failed_commit_stays_open",
    "transactions.commits_without_expired_records",
    "transactions.new_epoch_in_transaction",
    "transactions.failed_add_forgets_partitions",
    "transactions.no_transaction_backoff",
    "transactions.partition_stays_pending",
    "transactions.assumes_transaction_version_2",
    "transactions.late_init_cannot_be_repeated",
    "consumers.reads_from_batch_start",
    "consumers.aborted_transactions_in_order",
    "consumers.epoch_error_resets_position",
    "consumers.validation_restores_old_position",
    "consumers.close_ignores_its_timeout",
    "consumers.reads_on_before_revocation",
    "consumers.never_rejoins",
    "consumers.commits_the_latest_poll",
    "transactions.init_timeout_is_fatal",
    "transactions.fenced_init_is_retried",
    "sequences.idempotence_not_applied",
    "network.no_reauthentication",
)
"""The files with defects, by scenario in the order of the catalogue."""


def _defects() -> Iterator[Defect]:
    for module in MODULES:
        defect: Defect = import_module(f"{__name__}.{module}").DEFECT
        yield defect


DEFECTS: Final[Mapping[str, Defect]] = {defect.name: defect for defect in _defects()}

P = TypeVar("P", bound="NetworkParts")


def applied(parts: P, names: Iterable[str]) -> P:
    """Return the parts with the substitutes of the named defects: two for one class become one that has both.

    Raises:
        ConfigError: no defect has that name, or `parts` has none of the classes that it replaces.
    """
    for name in names:
        defect = _named(name)
        known = {field.name for field in fields(parts)}
        changes: dict[str, Any] = {
            part: _both(substitute, getattr(parts, part)) for part, substitute in defect.parts.items() if part in known
        }
        if not changes:
            raise ConfigError(
                f"defect {name!r} replaces {', '.join(defect.parts)}, of which this client has none "
                f"(it has {', '.join(sorted(known))})"
            )
        parts = replace(parts, **changes)
    return parts


def _named(name: str) -> Defect:
    defect = DEFECTS.get(name)
    if defect is None:
        hint = nearest(name, DEFECTS) or f"; the defects are {', '.join(sorted(DEFECTS))}"
        raise ConfigError(f"unknown client defect {name!r}{hint}")
    return defect


def _both(substitute: type, current: type) -> type:
    """A class with the behaviour of both: calls pass from the later defect to the earlier one, then to the client."""
    if issubclass(substitute, current):
        return substitute
    return type(f"{substitute.__name__}On{current.__name__}", (substitute, current), {})

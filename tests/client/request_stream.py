"""The requests that a cluster received, as lines by which two producers can be compared.

Details that do not depend on the producer are left out or made equal in every script:

- the current time (a record's timestamp is shown if the script sets it), client id and software name, correlation ids;
- the broker of a request that any broker can serve, and connections for such requests alone: the choice is random, as
  in Kafka (`leastLoadedNode`);
- the order among connections, which depends on the network: only the order within each depends on the producer (with
  several brokers, requests that any of them can serve are grouped by API);
- the order of topics and partitions in one request: Java's is that of its hash tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.records.batch_peek import iterate_batches
from protocol_specs.records.record_batch import read_records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.client.script_cluster import Request

SCRIPTED_TIMESTAMPS_BELOW = 1_000_000
VALUES_SHOWN = 3
BYTES_SHOWN = 12


def streams_of(requests: Iterable[Request], brokers: int) -> dict[str, list[str]]:
    """The lines of each connection; with several brokers, requests that any broker can serve are one stream."""
    by_connection: dict[tuple[int, int], list[Request]] = {}
    for request in requests:
        by_connection.setdefault((request.broker, request.connection), []).append(request)
    if brokers == 1:
        return {
            f"connection {number}": [line(each) for each in by_connection[1, number]] for _, number in by_connection
        }
    streams = {"any broker": [line(each) for each in sorted(filter(_is_for_any_broker, requests), key=_api)]}
    numbers: dict[int, int] = {}
    for (broker, _), seen in sorted(by_connection.items()):
        lines = [line(each) for each in seen if not _is_for_any_broker(each)]
        if all(each.api == "ApiVersions" or _is_for_any_broker(each) for each in seen):
            continue
        numbers[broker] = numbers.get(broker, 0) + 1
        streams[f"broker {broker} connection {numbers[broker]}"] = lines
    return streams


def _api(request: Request) -> str:
    return request.api


def _is_for_any_broker(request: Request) -> bool:
    if request.api == "InitProducerId":
        return request.body.transactional_id is None
    return request.api in {"Metadata", "FindCoordinator"}


def line(request: Request) -> str:
    """One request."""
    return f"{request.api} v{request.version}{_DETAILS[request.api](request.body)}"


def _metadata(body: Any) -> str:
    topics = "all" if body.topics is None else ",".join(sorted(topic.name for topic in body.topics))
    return f" topics=[{topics}] create={'yes' if body.allow_auto_topic_creation else 'no'}"


def _init_producer_id(body: Any) -> str:
    txn = f" {body.transactional_id}" if body.transactional_id is not None else ""
    return f"{txn} timeout={body.transaction_timeout_ms} producer={body.producer_id}/{body.producer_epoch}"


def _find_coordinator(body: Any) -> str:
    keys = ",".join(body.coordinator_keys) or body.key
    return f" {'transaction' if body.key_type else 'group'} {keys}"


def _add_partitions(body: Any) -> str:
    topics = body.v3_and_below_topics
    keys = sorted(f"{topic.name}-{partition}" for topic in topics for partition in topic.partitions)
    producer = f"{body.v3_and_below_producer_id}/{body.v3_and_below_producer_epoch}"
    return f" {body.v3_and_below_transactional_id} producer={producer} partitions=[{','.join(keys)}]"


def _add_offsets(body: Any) -> str:
    return f" {body.transactional_id} producer={body.producer_id}/{body.producer_epoch} group={body.group_id}"


def _txn_offset_commit(body: Any) -> str:
    keys = sorted(
        f"{topic.name}-{partition.partition_index}@{partition.committed_offset}"
        for topic in body.topics
        for partition in topic.partitions
    )
    member = f"generation={body.generation_id} member={body.member_id!r} instance={body.group_instance_id}"
    return f"{_add_offsets(body)} {member} offsets=[{','.join(keys)}]"


def _end_txn(body: Any) -> str:
    outcome = "commit" if body.committed else "abort"
    return f" {body.transactional_id} producer={body.producer_id}/{body.producer_epoch} {outcome}"


def _produce(body: Any) -> str:
    txn = f" {body.transactional_id}" if body.transactional_id is not None else ""
    parts = [f"{txn} acks={body.acks} timeout={body.timeout_ms}"]
    for topic in sorted(body.topic_data, key=lambda topic: str(topic.name)):
        parts.extend(
            f"{topic.name}-{partition.index}: {_batches(partition.records)}"
            for partition in sorted(topic.partition_data, key=lambda partition: int(partition.index))
        )
    return " | ".join(parts)


def _batches(records: Any) -> str:
    return " + ".join(_batch(header, batch) for header, batch in iterate_batches(bytes(records)))


def _batch(header: Any, batch: Any) -> str:
    shown = [
        f"magic={header.magic} producer={header.producer_id}/{header.producer_epoch} sequence={header.base_sequence}",
        f"records={header.records_count} offsets={header.base_offset}+{header.last_offset_delta}",
        f"codec={header.codec.type_name}",
    ]
    flags = [name for name, on in (("transactional", header.is_transactional), ("control", header.is_control)) if on]
    if flags:
        shown.append(f"flags={','.join(flags)}")
    if header.partition_leader_epoch != -1:
        shown.append(f"leader_epoch={header.partition_leader_epoch}")
    if header.max_timestamp < SCRIPTED_TIMESTAMPS_BELOW:
        shown.append(f"timestamps={header.base_timestamp}..{header.max_timestamp}")
    records = list(read_records(batch))
    shown.append(f"values={_some(record.value for record in records)}")
    if any(record.key is not None for record in records):
        shown.append(f"keys={_some(record.key for record in records)}")
    return " ".join(shown)


def _some(values: Iterable[bytes | None]) -> str:
    texts = ["null" if value is None else bytes(value)[:BYTES_SHOWN].decode("ascii", "replace") for value in values]
    if len(texts) > VALUES_SHOWN:
        texts[1:-1] = [".."]
    return ",".join(texts)


_DETAILS = {
    "ApiVersions": lambda _: "",
    "Metadata": _metadata,
    "InitProducerId": _init_producer_id,
    "Produce": _produce,
    "FindCoordinator": _find_coordinator,
    "AddPartitionsToTxn": _add_partitions,
    "AddOffsetsToTxn": _add_offsets,
    "TxnOffsetCommit": _txn_offset_commit,
    "EndTxn": _end_txn,
}

"""Records that a client appends to a coordinator's topic, which only the client id of Kafka's tools may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.api_key import ApiKey
from protocol_specs.framing import encode_request
from tests.differential.case import case
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.cases.internal_topics import await_loaded
from tests.differential.group_requests import (
    NO_DELAY,
    OFFSETS_TOPIC,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    stable_one,
)
from tests.differential.requests import batch, produce

if TYPE_CHECKING:
    from tests.differential.probe import Probe

ADMIN_CLIENT: Final = b"__admin_client"
PRODUCE_VERSION: Final = 9
HEADER_BYTES: Final = 15
"""The size and the header of a Produce with an empty client id."""

ONE_PARTITION: Final = (*NO_DELAY, ("offsets.topic.num.partitions", "1"))


def append(
    probe: Probe,
    key: bytes | None,
    value: bytes | None,
    *,
    note: str,
    client_id: bytes = ADMIN_CLIENT,
    topic: str = OFFSETS_TOPIC,
) -> None:
    """Append a record to partition 0 of an internal topic."""
    request = produce(topic, batch(value, key=key))
    body = encode_request(request, PRODUCE_VERSION, correlation_id=0, client_id="")[HEADER_BYTES:]
    header = len(client_id).to_bytes(2, "big") + client_id + b"\0"
    probe.raw_body(ApiKey.PRODUCE, PRODUCE_VERSION, body, header=header, note=note, only=_at_any_offset)


def _at_any_offset(response: Any) -> Any:
    """Other cases write to the topic too."""
    for topic in response["responses"]:
        for partition in topic["partitionResponses"]:
            partition["baseOffset"] = min(partition["baseOffset"], 0)
    return response


def _text(value: str) -> bytes:
    return len(value).to_bytes(2, "big") + value.encode()


@case(settings=ONE_PARTITION)
def records_of_unknown_types(probe: Probe) -> None:
    """A coordinator from 3.8 on loads its partition again; the one before goes on."""
    topic = probe.topic(partitions=2)
    group, members = group_of(probe), group_of(probe, "members")
    probe.exchange(commit(group, (topic, {0: 3})), 8)
    member = stable_one(probe, members)
    append(probe, b"\0\x63key", b"value", client_id=b"probe", note="of another client")
    append(probe, b"\0\x63key", b"value", note="of an unknown type")
    probe.exchange(fetch_offsets(group, everything=True), 7, note="the append is not noticed")
    member.heartbeat(note="the append is not noticed")
    probe.exchange(commit(group, (topic, {0: 4})), 8, note="behind the append")
    await_loaded(probe, group)
    probe.exchange(fetch_offsets(group, everything=True), 7)
    probe.exchange(commit(group, (topic, {0: 5})), 8)
    probe.exchange(fetch_offsets(group, everything=True), 7)
    member.heartbeat()
    member.commit((topic, {0: 1}))
    probe.exchange(describe_groups(members), 5)


@case(settings=ONE_PARTITION)
def offsets_that_a_client_appends(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    group = group_of(probe)
    probe.exchange(commit(group, (topic, {0: 3})), 8)
    key = b"\0\1" + _text(group) + _text(topic) + b"\0\0\0\1"
    value = b"\0\3" + (77).to_bytes(8, "big") + b"\0\0\0\0" + _text("metadata") + (1_700_000_000_000).to_bytes(8, "big")
    append(probe, key, value, note="an offset")
    probe.exchange(fetch_offsets(group, everything=True), 7)
    probe.exchange(commit(group, (topic, {0: 4})), 8, note="behind the append")
    await_loaded(probe, group)
    probe.exchange(fetch_offsets(group, everything=True), 7)
    append(probe, key, None, note="a tombstone")
    probe.exchange(offset_delete(group, (topic, [0, 1])), 0, note="behind the append")
    await_loaded(probe, group)
    probe.exchange(fetch_offsets(group, everything=True), 7)
    probe.exchange(offset_delete(group, (topic, [0, 1])), 0)

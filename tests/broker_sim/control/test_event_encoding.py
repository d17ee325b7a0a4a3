from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from broker_sim.control.event_encoding import event_encoder
from broker_sim.control.events import BYTES_FIELDS, UNDIGESTED_FIELDS, BrokerKilled, Event, IsrChanged
from broker_sim.control.journal import EVENT_KINDS
from protocol_specs.error_codes import ErrorCode
from sim_runtime.digest import DigestPart, encode_parts

VALUES: dict[str, Any] = {
    "int": ErrorCode.NOT_LEADER_OR_FOLLOWER,
    "str": "50 % für alle \udc80",
    "bool": True,
    "bytes": b"\x00\xff",
    "float": 0.1,
    "str | None": None,
    "int | None": 7,
    "tuple[int, ...]": (3, 1, 2),
    "tuple[str, ...]": ("orders-0", ""),
}


def event_of(kind: type[Event], **given: Any) -> Event:
    values: dict[str, Any] = {each.name: given.get(each.name, VALUES.get(str(each.type))) for each in fields(kind)}
    return kind(**values)


def parts_of(event: Event) -> list[DigestPart]:
    """The parts of an event by its fields, one by one."""
    parts: list[DigestPart] = [event.kind]
    for each in fields(event):
        if each.name in BYTES_FIELDS | UNDIGESTED_FIELDS:
            continue
        value = getattr(event, each.name)
        parts += [len(value), *value] if isinstance(value, tuple) else [value]
    return parts


@pytest.mark.parametrize("kind", EVENT_KINDS.values(), ids=EVENT_KINDS)
def test_an_event_is_encoded_as_its_parts(kind: type[Event]) -> None:
    event = event_of(kind)
    assert event_encoder(kind)(event) == encode_parts(*parts_of(event))


def test_lists_of_other_lengths_make_other_bytes() -> None:
    encode = event_encoder(IsrChanged)
    short = event_of(IsrChanged, isr=(1, 2), previous_isr=(3,))
    long = event_of(IsrChanged, isr=(1,), previous_isr=(2, 3))
    assert encode(short) == encode_parts(*parts_of(short)) != encode(long)


def test_kinds_with_equal_fields_have_different_bytes() -> None:
    killed = BrokerKilled(time_us=1, broker_id=2)
    assert event_encoder(BrokerKilled)(killed) == b"(3:s12:BrokerKilledi1;i2;"

"""The action `bit_flip`: a bit of the records of a Produce changes on its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from broker_sim.faults.action import Action
from broker_sim.faults.forms import Choice, Fields, Whole
from broker_sim.faults.interception import Edit, Interception, Phase
from broker_sim.faults.rule import NoEffect, Range
from protocol_specs.fuzzing import Mutation
from protocol_specs.messages.produce import ProduceRequest
from protocol_specs.records.batch_peek import MAGIC_OFFSET, MAGIC_V2

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import Drawable

_ANY_BIT: Final = Range(0, 7, whole=True)
_CHECKSUM_AT: Final = 17
"""Before it come base offset, length, leader epoch and magic of a batch."""
_CHECKSUM_OF_MESSAGE_AT: Final = 12
"""Before it come offset and size of a message of an old format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BitFlip(Action):
    """Flip one bit of the batches of a Produce before the broker parses it, and compute no checksum anew.

    The checksum covers all of a batch but its first 17 bytes. A broker refuses a batch that changes in the `checksum`
    part with CORRUPT_MESSAGE. In the `header` it overwrites some fields without a look, and refuses others.
    """

    phases: ClassVar = (Phase.BEFORE_PARSE,)
    form: ClassVar = Fields(
        part=Choice(
            "`checksum`: the checksum of a batch and the bytes that it covers (default), `header`: those before it",
            ("checksum", "header"),
        ),
        byte=Whole("the byte of the part, counted over all batches of the request; by default drawn", 0, at_least=0),
        bit=Whole("the bit of the byte, by default drawn", 0, at_least=0, at_most=7),
    )
    part: str = "checksum"
    byte: Drawable | None = None
    bit: Drawable = _ANY_BIT

    def fire(self, firing: Firing) -> Interception:
        """Return the interception that changes the request. Raises NoEffect for one without that byte."""
        assert firing.point is not None
        request = firing.point.message()
        if not isinstance(request, ProduceRequest):
            raise NoEffect("the request is no Produce")
        parts = _parts(request, self.part)
        size = sum(end - start for _, _, start, end in parts)
        if not size:
            raise NoEffect("the request has no records")
        byte = firing.whole("byte", Range(0, size - 1, whole=True) if self.byte is None else self.byte)
        bit = firing.whole("bit", self.bit)
        for path, records, start, end in parts:
            if byte < end - start:
                changed = bytearray(records)
                changed[start + byte] ^= 1 << bit
                mutation = Mutation.set(path, bytes(changed), reframe=False)
                return Interception(edits=(Edit((mutation,), firing.report_problem),))
            byte -= end - start
        raise NoEffect(f"the part has {size} bytes")


def _parts(request: ProduceRequest, part: str) -> list[tuple[str, bytes, int, int]]:
    """Return the path of each record set, its bytes, and where the part of them begins and ends."""
    found = []
    for place, topic in enumerate(request.topic_data):
        for index, partition in enumerate(topic.partition_data):
            given = partition.records or b""
            records = b"".join(given) if isinstance(given, list) else bytes(given)
            is_old = len(records) > MAGIC_OFFSET and records[MAGIC_OFFSET] < MAGIC_V2
            checksum = min(_CHECKSUM_OF_MESSAGE_AT if is_old else _CHECKSUM_AT, len(records))
            start, end = (checksum, len(records)) if part == "checksum" else (0, checksum)
            found.append((f"topic_data[{place}].partition_data[{index}].records", records, start, end))
    return found

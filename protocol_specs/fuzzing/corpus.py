"""Valid bytes of a target, made by chance, with a part for each field: the input that mutators change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from protocol_specs.framing import framed
from protocol_specs.fuzzing.field_parts import frame_map, message_map, record_set_map
from protocol_specs.fuzzing.field_paths import every_path
from protocol_specs.fuzzing.rules import breakable
from protocol_specs.fuzzing.targets import Route
from protocol_specs.fuzzing.valid_messages import ValidMessages
from protocol_specs.messages.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.fuzzing.choices import Choices
    from protocol_specs.fuzzing.field_map import FieldMap, Part
    from protocol_specs.fuzzing.rules import Rule
    from protocol_specs.fuzzing.targets import Target
    from protocol_specs.message import Message


@dataclass(slots=True, kw_only=True)
class Seed:
    """Valid bytes of a target; `message` begins at the byte `body`. Frames include their size.

    `paths` are those of all parts, and `promises` the lengths, counts, sizes and checksums, those of record sets too;
    `breakable` are the rules of the message that can be broken in them.
    """

    target: Target
    data: bytes
    fields: FieldMap
    message: Message | None = None
    body: int = 0
    paths: list[str] = field(init=False)
    promises: list[Part] = field(init=False)
    breakable: list[tuple[Rule, list[Part]]] = field(init=False)

    def __post_init__(self) -> None:
        self.breakable = [] if self.target.cls is None else breakable(self.fields)
        self.paths = list(every_path(self.fields))
        self.promises = [part for part in self.fields.parts if part.promise is not None]


def make_seed(target: Target, choices: Choices, record_sets: Sequence[bytes]) -> Seed:
    """Valid bytes of a target; the fields of records hold one of `record_sets`."""
    cls, version = target.cls, target.version
    if cls is None:
        data = choices.one_of(record_sets)
        return Seed(target=target, data=data, fields=record_set_map(data))
    valid = ValidMessages(choices, record_sets)
    message = valid.message(cls, version)
    head = b""
    if target.route is Route.REQUEST:
        header_version = request_header_version(cls, version)
        header = valid.message(RequestHeader, header_version)
        header.request_api_key, header.request_api_version = cls.API_KEY, version  # type: ignore[attr-defined]
        head = header.encode(header_version)
    elif target.route is Route.RESPONSE:
        header_version = response_header_version(cls, version)
        head = valid.message(ResponseHeader, header_version).encode(header_version)
    data = head + message.encode(version)
    if not target.framed:
        return Seed(target=target, data=data, fields=message_map(cls, version, data), message=message)
    frame = framed(data)
    fields = frame_map(cls, version, frame)
    return Seed(target=target, data=frame, fields=fields, message=message, body=len(frame) - len(data) + len(head))

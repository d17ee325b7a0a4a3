"""A decoded frame as one JSON object, for machines.

`api`, `kind`, `version`, `hex` (the body), `json` and `unknown_tags` are those of JSON lines, so that a line of this
output is also one of `encode --jsonl`. `json` is missing when the body does not fit. Beside them: `size` (bytes of the
frame), `header`, `fields` (each with `path`, `offset`, `length`, `type`, `value`; `within` as in Span), `faults` and
`remarks` (`path`, `offset`, `reason`, `rule`), `notes`; and of a capture `number`, `connection`, `time`, `source`,
`destination`, and `request_frame` (the number of the request of a response).
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from protocol_specs.errors import MessageDecodeError
from protocol_specs.inspection.json_lines import tags_to_json
from protocol_specs.json_form import to_json
from protocol_specs.uuids import to_text

if TYPE_CHECKING:
    from protocol_specs.codec.annotate import Span
    from protocol_specs.inspection.capture_session import CapturedFrame
    from protocol_specs.inspection.decoded_frame import DecodedFrame, Remark


def json_of_frame(frame: DecodedFrame, **place: object) -> dict[str, Any]:
    """The object of a frame; its place in the input, `place`, comes first."""
    made: dict[str, Any] = dict(place)
    made["api"] = frame.api or None
    made["kind"] = frame.kind.value if frame.kind else None
    made["version"] = frame.version if frame.cls else None
    made["size"] = len(frame.data)
    if frame.header is not None:
        made["header"] = to_json(frame.header, frame.header_version)
    made["hex"] = frame.data[frame.body :].hex()
    if frame.cls is not None and frame.is_read:
        made |= _body(frame)
    made["fields"] = [_field(span) for span in frame.spans]
    made["faults"] = [_remark(remark) for remark in frame.faults]
    made["remarks"] = [_remark(remark) for remark in frame.remarks]
    if frame.notes:
        made["notes"] = frame.notes
    return made


def json_of_captured(captured: CapturedFrame) -> dict[str, Any]:
    """The object of a frame of a capture."""
    request = captured.request
    place = {
        "number": captured.number,
        "connection": captured.connection,
        "time": None if captured.time_ns is None else captured.time_ns / 1e9,
        "source": str(captured.source),
        "destination": str(captured.destination),
    }
    if request is not None:
        place["request_frame"] = request.number
    return json_of_frame(captured.frame, **place)


def _body(frame: DecodedFrame) -> dict[str, Any]:
    assert frame.cls is not None
    try:
        message, _ = frame.cls.decode_from(frame.version, frame.data, frame.body)
    except MessageDecodeError:
        return {}
    made: dict[str, Any] = {"json": to_json(message, frame.version)}
    if message.unknown_tags:
        made["unknown_tags"] = tags_to_json(message)
    return made


def _field(span: Span) -> dict[str, Any]:
    made = {
        "path": span.path,
        "offset": span.start,
        "length": span.stop - span.start,
        "type": span.type_name,
        "value": _value(span),
    }
    if span.within:
        made["within"] = span.within
    return made


def _value(span: Span) -> object:
    value = span.value
    if span.type_name.startswith("records"):
        # Its content follows, field by field.
        return None
    if isinstance(value, bytes):
        return to_text(value) if span.type_name == "uuid" else value.hex()
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def _remark(remark: Remark) -> dict[str, Any]:
    made: dict[str, Any] = {
        "path": remark.path,
        "offset": remark.position,
        "reason": remark.reason,
        "rule": remark.rule,
    }
    if remark.within:
        made["within"] = remark.within
    return made

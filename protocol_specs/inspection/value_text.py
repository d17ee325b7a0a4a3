"""The value of a field as text: names of codes, flags and times beside the numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from protocol_specs.api_key import ApiKey
from protocol_specs.codec.annotate import LEFT_OUT

if TYPE_CHECKING:
    from protocol_specs.codec.annotate import Span

TEXT_CHARACTERS_MAX: Final = 60
"""The limit on the text of a value."""

_PRINTABLE: Final = frozenset(range(0x20, 0x7F))
_TIMESTAMP_MIN: Final = 86_400_000
_TIMESTAMP_MAX: Final = 253_402_300_799_999
_ZERO_OR_MORE: Final = "[]"


def value_text(span: Span) -> str:
    """The value of a span, truncated if it is long."""
    value, type_name = span.value, span.type_name
    if value is None:
        return "null"
    if type_name == LEFT_OUT:
        return f"{value} more fields are not shown"
    if type_name == "tag and size" and isinstance(value, tuple):
        return f"tag {value[0]}, {value[1]} bytes"
    if isinstance(value, bytes):
        return _uuid(value) if type_name == "uuid" else _bytes(value)
    if isinstance(value, str):
        return cut(f'"{value.encode("unicode_escape").decode()}"' if not value.isprintable() else f'"{value}"')
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}{_meaning(span, value)}"
    return str(value)


def cut(text: str) -> str:
    """Text of at most TEXT_CHARACTERS_MAX characters."""
    return text if len(text) <= TEXT_CHARACTERS_MAX else f"{text[: TEXT_CHARACTERS_MAX - 2]}.."


def _uuid(value: bytes) -> str:
    from protocol_specs.uuids import to_text

    return to_text(value)


def _bytes(value: bytes) -> str:
    count = f"{len(value)} byte{'' if len(value) == 1 else 's'}"
    shown = value[:TEXT_CHARACTERS_MAX]
    if value and all(byte in _PRINTABLE for byte in shown):
        return cut(f'{count} "{shown.decode("ascii")}"')
    return count


def _meaning(span: Span, value: int) -> str:
    name = span.path.rpartition(".")[2].partition("[")[0]
    if span.type_name.startswith(_ZERO_OR_MORE):
        return " element" if value == 1 else " elements"
    if name == "error_code":
        return _error(value)
    if name in {"request_api_key", "api_key"}:
        return _api(value)
    if "timestamp" in name and span.type_name == "int64" and _TIMESTAMP_MIN <= value <= _TIMESTAMP_MAX:
        moment = datetime.fromtimestamp(value / 1000, tz=UTC)
        return f" ({moment.isoformat(sep=' ', timespec='milliseconds').replace('+00:00', ' UTC')})"
    if name == "crc":
        return f" ({value:#010x})"
    if name == "attributes" and span.type_name != "int8":
        return _batch_attributes(value)
    return ""


def _error(value: int) -> str:
    from protocol_specs.error_codes import ErrorCode

    try:
        return f" ({ErrorCode(value).name})"
    except ValueError:
        return " (no code of Kafka's)"


def _api(value: int) -> str:
    from protocol_specs.errors import UnknownApi

    try:
        return f" ({ApiKey.of(value).api_name})"
    except UnknownApi:
        return " (unknown)"


def _batch_attributes(value: int) -> str:
    from protocol_specs.records.compression import CompressionCodec

    codec = value & 7
    words = [codec_.type_name for codec_ in CompressionCodec if codec_ == codec and codec] or (
        [f"codec {codec}"] if codec else []
    )
    flags = ((8, "log append time"), (16, "transactional"), (32, "control"), (64, "delete horizon"))
    words += [word for bit, word in flags if value & bit]
    return f" ({', '.join(words)})" if words else ""

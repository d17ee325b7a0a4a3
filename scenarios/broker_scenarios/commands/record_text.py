"""Records as text: JSON objects, and kcat's format strings."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_client.consumer import ConsumerRecord

__all__ = ["FORMAT_HELP", "json_line", "record_format", "record_object"]

FORMAT_HELP: Final = (
    "a format: %%t topic, %%p partition, %%o offset, %%T timestamp (ms), %%k key, %%s value, %%h headers, %%K and %%S "
    "lengths in bytes (-1 for null), %%%% a percent sign; \\n, \\t and \\0 as in C"
)
_TOKEN: Final = re.compile(r"%(.)|\\(.)", re.DOTALL)
_ESCAPES: Final = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
_FIELDS: Final[dict[str, Callable[[ConsumerRecord], bytes]]] = {
    "t": lambda record: record.topic.encode(),
    "p": lambda record: b"%d" % record.partition,
    "o": lambda record: b"%d" % record.offset,
    "T": lambda record: b"%d" % record.timestamp_ms,
    "k": lambda record: record.key or b"",
    "s": lambda record: record.value or b"",
    "h": lambda record: b",".join(b"%s=%s" % (name.encode(), value or b"") for name, value in record.headers),
    "K": lambda record: b"%d" % _size(record.key),
    "S": lambda record: b"%d" % _size(record.value),
    "%": lambda _: b"%",
}


def record_format(text: str) -> Callable[[ConsumerRecord], bytes]:
    """Compile a format string. Raises ScenarioError for a token that is not known."""
    parts: list[bytes | Callable[[ConsumerRecord], bytes]] = []
    end = 0
    for token in _TOKEN.finditer(text):
        parts.append(text[end : token.start()].encode())
        end = token.end()
        known: dict[str, Any] = _FIELDS if token[1] is not None else _ESCAPES
        name = token[1] if token[1] is not None else token[2]
        if name not in known:
            prefix = token[0][0]
            expected = " ".join(f"{prefix}{each}" for each in known)
            raise ScenarioError(f"-f {text!r}: {token[0]} is not known; expected {expected}")
        parts.append(known[name])
    parts.append(text[end:].encode())
    return lambda record: b"".join(part if isinstance(part, bytes) else part(record) for part in parts)


def record_object(
    *,
    topic: str,
    partition: int,
    offset: int,
    timestamp_ms: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]],
) -> dict[str, Any]:
    """Return a record for JSON: bytes that are no UTF-8 are null, with the bytes under `<name>_base64`."""
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "timestamp": timestamp_ms,
        **_bytes("key", key),
        **_bytes("value", value),
        "headers": [{"key": name, **_bytes("value", data)} for name, data in headers],
    }


def json_line(value: object) -> bytes:
    """Return a line of JSON in UTF-8."""
    return f"{json.dumps(value, ensure_ascii=False)}\n".encode()


def _bytes(name: str, data: bytes | None) -> dict[str, str | None]:
    try:
        return {name: None if data is None else data.decode()}
    except UnicodeDecodeError:
        assert data is not None, "it was decoded"
        return {name: None, f"{name}_base64": base64.b64encode(data).decode()}


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)

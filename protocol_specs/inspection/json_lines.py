"""Lines of ``{"api", "kind", "version", "hex"}`` with ``"json"`` added, and back. Mirrors Kafka's JSON converters.

A line is one message body, without frame and header, in the form of the Java vectors: `json` as `json_form` has it,
`unknown_tags` the tags of the message's own tag section as ``[tag, hex]``. Unknown tags of inner structs are in
`nested_unknown_tags` by the path of their struct, so that every decoded line encodes to its bytes again. Other keys
stay, in order. Lines are read, converted and written one by one.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any, Final

from protocol_specs import registry
from protocol_specs.errors import MessageEncodeError, ProtocolError, UnsupportedVersion
from protocol_specs.inspection.errors import InputError
from protocol_specs.inspection.hex_text import bytes_of_digits
from protocol_specs.json_form import camel_case, from_json, to_json
from protocol_specs.message import Kind, Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from protocol_specs.message import Message

__all__ = ["LINE_BYTES_MAX", "decode_lines", "encode_lines", "named_kind", "tags_to_json"]

LINE_BYTES_MAX: Final = 256 * 1024 * 1024
"""The limit on a line: a message of 100 MB (socket.request.max.bytes) in hex fits."""

_TAG_MAX: Final = 2**32 - 1


def decode_lines(file: IO[bytes], source: str) -> Iterator[str]:
    """Each line with `json` (and `unknown_tags`, when there are some) made of its `hex`. Raises InputError."""
    return _turn_lines(file, source, _decode)


def encode_lines(file: IO[bytes], source: str) -> Iterator[str]:
    """Each line with `hex` made of its `json` (and `unknown_tags`). Raises InputError."""
    return _turn_lines(file, source, _encode)


def named_kind(name: str) -> Kind:
    """The kind of that name. Raises ProtocolError with the valid names."""
    try:
        return Kind(name)
    except ValueError:
        kinds = ", ".join(kind.value for kind in Kind)
        raise ProtocolError(f"no kind {name!a}: the kinds are {kinds}") from None


def tags_to_json(struct: Struct) -> list[list[object]]:
    """The unknown tags of a struct as `[tag, hex]`."""
    return [[tag, data.hex()] for tag, data in struct.unknown_tags]


def _turn_lines(
    file: IO[bytes], source: str, turn: Callable[[dict[str, Any], type[Message], int], None]
) -> Iterator[str]:
    number = 0
    while raw := file.readline(LINE_BYTES_MAX + 1):
        number += 1
        if raw.isspace():
            continue
        try:
            line = _parse(raw)
            cls, version = _declaration(line)
            turn(line, cls, version)
        except MessageEncodeError as error:
            # The encoder uses Python's names of fields, but the input is JSON.
            shown = MessageEncodeError(error.message, error.version, camel_case(error.path), error.reason)
            raise InputError(source, f"line {number}", str(shown)) from None
        except ProtocolError as error:
            raise InputError(source, f"line {number}", str(error)) from None
        yield json.dumps(line, separators=(",", ":"))
    if number == 0:
        raise InputError(source, "", "empty: expected one JSON object a line")


def _parse(raw: bytes) -> dict[str, Any]:
    if len(raw) > LINE_BYTES_MAX:
        raise ProtocolError(f"the line is longer than LINE_BYTES_MAX={LINE_BYTES_MAX}")
    try:
        line = json.loads(raw.decode("utf-8"), object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise ProtocolError(f"no JSON: {error.msg}, column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise ProtocolError(f"no UTF-8: byte {raw[error.start]:#04x} at column {error.start + 1}") from None
    except RecursionError:
        raise ProtocolError("no JSON: nested too deep") from None
    except ValueError as error:
        raise ProtocolError(f"no JSON: {error}") from None
    if not isinstance(line, dict):
        raise ProtocolError(f"{_shown(line)} is no JSON object: expected api, kind, version and hex or json")
    return line


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ProtocolError(f"no JSON: key {json.dumps(twice)} stands twice in an object")
    return made


def _declaration(line: dict[str, Any]) -> tuple[type[Message], int]:
    api, kind, version = _value(line, "api", str), _value(line, "kind", str), _value(line, "version", int)
    cls = _found(api, kind)
    if version not in cls.VERSIONS:
        raise UnsupportedVersion(cls.__name__, version, str(cls.VERSIONS))
    return cls, version


@lru_cache(maxsize=1024)
def _found(api: str, kind: str) -> type[Message]:
    return registry.find(api, named_kind(kind))


def _value(line: dict[str, Any], key: str, kind: type) -> Any:
    if key not in line:
        raise ProtocolError(f"no key {key!r}: a line has api, kind, version and hex or json")
    value = line[key]
    if type(value) is not kind:
        raise ProtocolError(f"{key}: {_shown(value)} is no {'whole number' if kind is int else 'text'}")
    return value


def _decode(line: dict[str, Any], cls: type[Message], version: int) -> None:
    data = bytes_of_digits(_value(line, "hex", str), "hex")
    message, end = cls.decode_from(version, data, 0)
    if end != len(data):
        left = data[end : end + 8].hex(" ") + (" ..." if len(data) - end > 8 else "")
        raise ProtocolError(f"{cls.__name__} v{version} ends at byte {end}, and hex has {len(data) - end} more: {left}")
    line["json"] = to_json(message, version)
    tags: dict[str, object] = {"unknown_tags": tags_to_json(message), "nested_unknown_tags": {}}
    if cls.is_flexible(version):
        nested = ((path, struct) for path, struct in _structs(message, "") if struct.unknown_tags)
        tags["nested_unknown_tags"] = {path: tags_to_json(struct) for path, struct in nested}
    for key, value in tags.items():
        if value:
            line[key] = value
        else:
            line.pop(key, None)


def _encode(line: dict[str, Any], cls: type[Message], version: int) -> None:
    if "json" not in line:
        raise ProtocolError("no key 'json': a line has api, kind, version and hex or json")
    message = from_json(cls, version, line["json"], complete=True)
    tags, nested = line.get("unknown_tags", []), line.get("nested_unknown_tags", {})
    if (tags or nested) and not cls.is_flexible(version):
        flexible = cls.FLEXIBLE.intersection(cls.VERSIONS)
        raise ProtocolError(f"unknown_tags: {cls.__name__} v{version} carries no tags (versions with tags: {flexible})")
    if tags:
        message.unknown_tags = _tags_from_json(tags, "unknown_tags")
    if nested:
        _set_nested_tags(message, nested)
    line["hex"] = message.encode(version).hex()


def _set_nested_tags(message: Message, nested: object) -> None:
    if not isinstance(nested, dict):
        raise ProtocolError(f"nested_unknown_tags: {_shown(nested)} is no JSON object of paths")
    structs = dict(_structs(message, ""))
    for path, tags in nested.items():
        struct = structs.get(path)
        if struct is None or struct is type(struct).shared_default():
            raise ProtocolError(f"nested_unknown_tags: json has no struct at {path!a}")
        struct.unknown_tags = _tags_from_json(tags, f"nested_unknown_tags, {path}")


def _structs(owner: Struct, prefix: str) -> Iterator[tuple[str, Struct]]:
    """The structs inside a struct, each with its JSON path."""
    for f in owner.FIELDS:
        value = getattr(owner, f.name)
        path = prefix + camel_case(f.name)
        if isinstance(value, Struct):
            yield path, value
            yield from _structs(value, f"{path}.")
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if not isinstance(item, Struct):
                    break
                yield f"{path}[{index}]", item
                yield from _structs(item, f"{path}[{index}].")


def _tags_from_json(tags: object, place: str) -> list[tuple[int, bytes]]:
    if not isinstance(tags, list):
        raise ProtocolError(f"{place}: {_shown(tags)} is no JSON array of [tag, hex]")
    made: list[tuple[int, bytes]] = []
    for index, pair in enumerate(tags):
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not int or not isinstance(pair[1], str):
            raise ProtocolError(f"{place}[{index}]: {_shown(pair)} is no [tag, hex]")
        tag, digits = pair
        if not 0 <= tag <= _TAG_MAX:
            raise ProtocolError(f"{place}[{index}]: tag {tag}: expected 0 to {_TAG_MAX}")
        made.append((tag, bytes_of_digits(digits, f"{place}[{index}]")))
    return made


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

"""The bytes of events in the digest of a run: one generated function per kind of event."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from broker_sim.control.events import BYTES_FIELDS, UNDIGESTED_FIELDS
from sim_runtime.digest import encode_part, encode_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker_sim.control.events import Event
    from sim_runtime.digest import DigestPart

__all__ = ["EventEncoder", "event_encoder"]

EventEncoder: TypeAlias = "Callable[[Any], bytes]"
"""Takes an event of its kind."""

_FLAGS: Final = (b"f;", b"t;")
_VALUES: Final[dict[str, tuple[str, str]]] = {
    "int": ("i%d;", "event.{}"),
    "str": ("%b", "text(event.{})"),
    "bool": ("%b", "flags[event.{}]"),
}
"""The format of a field by its type, and the expression of its value."""
_OTHER: Final = "%b", "part(event.{})"
_LIST: Final = "i%d;%b", "len(event.{0}), each_of(event.{0})"


def event_encoder(kind: type[Event]) -> EventEncoder:
    """Return the function that encodes an event of a kind as `encode_parts` does its name and fields.

    A list counts as its length and its elements. Fields with bytes of logs and the draws of rules are left out.
    """
    count = "1"
    template = encode_text(kind.__name__).decode()
    values = []
    for field in fields(kind):
        if field.name in BYTES_FIELDS or field.name in UNDIGESTED_FIELDS:
            continue
        is_list = str(field.type).startswith("tuple")
        form, value = _LIST if is_list else _VALUES.get(str(field.type), _OTHER)
        count += f" + 1 + len(event.{field.name})" if is_list else " + 1"
        template += form
        values.append(value.format(field.name))
    source = f"lambda event: b'(%d:{template}' % ({count}, {', '.join(values)})"
    names = {"text": encode_text, "flags": _FLAGS, "part": encode_part, "each_of": _encode_each}
    return cast("EventEncoder", eval(source, names))  # noqa: S307 - of the names of the class's own fields


def _encode_each(parts: Iterable[DigestPart]) -> bytes:
    return b"".join(map(encode_part, parts))

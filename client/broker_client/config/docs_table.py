"""The table of configuration keys as text and as a page of the reference. Mirrors ConfigDef.toHtml."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from broker_client.config.config_key import KeyStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_client.config.config_key import ConfigKey

__all__ = ["as_markdown", "as_text"]

_INTRODUCTION: Final = """\
# Producer configurations

Every key of the Java producer 4.3, in its order, and those that older releases had. Names are Java's; keyword
arguments take underscores for dots (`Producer(bootstrap_servers="localhost:9092", linger_ms=5)`). Types, ranges,
defaults and what one key means to another are Java's too, and are compared with what the Java producer 4.3.1 says.

- **implemented**: does what it does in Java.
- **mapped**: Java wants a class name; here it is a callable, an object, a class or the dotted name of one.
- **refused**: raises `ConfigError` with the reason, unless it is given its default.

It differs from Java on purpose in this:

- A key that is not in the table raises `ConfigError` with the nearest name; Java logs it and goes on.
- Serializers may be left out: keys and values are bytes then. `acks` may be a number.
- An address without a host, and port 0, are refused. Names are resolved when they are connected to, so that one that
  stands for nothing is told by the first `send` and not by the constructor.
- A request is given up as soon as `request.timeout.ms` is over. Java's loop looks when it wakes for something else, or
  that long after it last looked, and so may wait for an answer twice as long.

`broker_client.ProducerConfig.docs()` prints the same table.
"""
_SCALA: Final = """
## Keys of the Scala producer (0.7 and 0.8)

They are refused by name; now one says:

| then | now |
|---|---|
"""


def as_text(keys: Iterable[ConfigKey]) -> str:
    """A line a key: name, type, default, status, what it does here."""
    lines = [f"{'name':<55} {'type':<9} {'default':<30} {'status':<12} what it does"]
    lines += [
        f"{key.name:<55} {key.type.value:<9} {_default(key):<30} {key.status.value:<12} {_meaning(key)}" for key in keys
    ]
    return "\n".join(lines)


def as_markdown(keys: Iterable[ConfigKey], scala_keys: Mapping[str, str]) -> str:
    """The page: how many of each status, the table, and what became of the Scala producer's keys."""
    listed = list(keys)
    counts = Counter(key.status for key in listed)
    told = ", ".join(f"{counts[status]} are {status.value}" for status in KeyStatus if counts[status])
    lines = [
        f"| `{key.name}` | {key.type.value} | {_code(_default(key))} | {_code(_valid(key))} | {key.importance.value} "
        f"| {key.status.value} | {_cell(_meaning(key))} |"
        for key in listed
    ]
    table = ["| name | type | default | valid | importance | status | what it does |", "|---|---|---|---|---|---|---|"]
    scala = [f"| `{then}` | {_cell(now)} |" for then, now in scala_keys.items()]
    parts = [_INTRODUCTION, f"\nOf {len(listed)} keys {told}.\n\n", "\n".join([*table, *lines]), "\n", _SCALA]
    return "".join(parts) + "\n".join(scala) + "\n"


def _default(key: ConfigKey) -> str:
    if key.required:
        return "(required)"
    if isinstance(key.default, tuple):
        return ",".join(map(str, key.default))
    if isinstance(key.default, bool):
        return str(key.default).lower()
    return "" if key.default is None else str(key.default)


def _valid(key: ConfigKey) -> str:
    if key.one_of:
        return ", ".join(key.one_of)
    if key.non_empty:
        return "not empty"
    if not key.has_range:
        return ""
    bounds = f"{'' if key.minimum is None else key.minimum}..{'' if key.maximum is None else key.maximum}"
    return ", ".join([bounds, *map(str, key.also)])


def _meaning(key: ConfigKey) -> str:
    meaning = key.doc if not key.note else f"{key.doc} {key.status.value.capitalize()}: {key.note}."
    return f"{meaning} (Until {key.removed_in}.)" if key.removed_in else meaning


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

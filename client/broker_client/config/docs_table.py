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
defaults and cross-field rules are Java's too; tests compare them with the Java producer 4.3.1.

- **implemented**: works as in Java.
- **mapped**: Java requires a class name; here it is a callable, an object, a class or the dotted name of one.
- **refused**: raises `ConfigError` with the reason, unless it is given its default.

Intended differences from Java:

- A key that is not in the table raises `ConfigError` with the nearest name; Java only logs it.
- Serializers are optional: without them keys and values are bytes. `acks` may be a number.
- Logins come from `sasl.jaas.config` alone: no JAAS file is read. A login module without a user name or a password is
  refused by the constructor; with Java each send then ends by `max.block.ms`.
- An address without a host, and port 0, are refused. Host names are resolved for each connection, so that the first
  `send` reports an unknown name, and not the constructor.
- A request fails as soon as `request.timeout.ms` has passed. Java checks only when its network loop wakes up, and
  may wait up to twice as long for a response.

`broker_client.ProducerConfig.docs()` prints the same table.
"""
_SCALA: Final = """
## Keys of the Scala producer (0.7 and 0.8)

They are refused by name. Their replacements:

| key | replacement |
|---|---|
"""


def as_text(keys: Iterable[ConfigKey]) -> str:
    """Return one line per key: name, type, default, status, meaning."""
    lines = [f"{'name':<55} {'type':<9} {'default':<30} {'status':<12} what it does"]
    lines += [
        f"{key.name:<55} {key.type.value:<9} {_default(key):<30} {key.status.value:<12} {_meaning(key)}" for key in keys
    ]
    return "\n".join(lines)


def as_markdown(keys: Iterable[ConfigKey], scala_keys: Mapping[str, str]) -> str:
    """Return the page: the number of keys per status, the table, and the replacements of the Scala producer's keys."""
    listed = list(keys)
    counts = Counter(key.status for key in listed)
    statuses = ", ".join(f"{counts[status]} are {status.value}" for status in KeyStatus if counts[status])
    lines = [
        f"| `{key.name}` | {key.type.value} | {_code(_default(key))} | {_code(_valid(key))} | {key.importance.value} "
        f"| {key.status.value} | {_cell(_meaning(key))} |"
        for key in listed
    ]
    table = ["| name | type | default | valid | importance | status | what it does |", "|---|---|---|---|---|---|---|"]
    scala = [f"| `{then}` | {_cell(now)} |" for then, now in scala_keys.items()]
    parts = [_INTRODUCTION, f"\nOf {len(listed)} keys {statuses}.\n\n", "\n".join([*table, *lines]), "\n", _SCALA]
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

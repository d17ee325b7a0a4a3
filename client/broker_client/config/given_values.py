"""Given configurations by name, parsed and checked against the keys of one client. Mirrors ConfigDef.parse.

A key that the client does not have raises an error with the nearest name, where Java only logs it.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from broker_client.config.class_values import loaded_class
from broker_client.config.config_key import ConfigKey, KeyStatus, ValueType
from broker_client.config.value_parsing import checked_value, parsed_value
from broker_client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["by_dotted_name", "parsed_values", "refuse_given", "unknown_key"]


def by_dotted_name(
    keys: Mapping[str, ConfigKey], pairs: Iterable[tuple[str, object]], *, replaced: Mapping[str, str]
) -> dict[str, object]:
    """Return the given values by the names of their keys; names may have underscores for dots.

    `replaced` maps the names of older releases to their replacements.

    Raises:
        ConfigError: a name is unknown, or is given twice.
    """
    given: dict[str, object] = {}
    for name, value in pairs:
        dotted = name.replace("_", ".")
        if dotted not in keys:
            raise unknown_key(keys, name, replaced=replaced)
        if dotted in given:
            raise ConfigError(f"{dotted} is given twice")
        given[dotted] = value
    return given


def parsed_values(keys: Mapping[str, ConfigKey], given: Mapping[str, object]) -> dict[str, object]:
    """Return the values of all keys, in the order of the keys: those that are given, parsed, and the defaults.

    Raises:
        ConfigError: a value has the wrong type or is out of range, or a required one is missing.
    """
    values: dict[str, object] = {}
    for key in keys.values():
        if key.name in given:
            values[key.name] = _value_of(key, given[key.name])
        elif key.required:
            raise ConfigError(f"missing required configuration {key.name}, which has no default value")
        else:
            values[key.name] = key.default
    return values


def refuse_given(keys: Mapping[str, ConfigKey], given: Mapping[str, object], values: Mapping[str, object]) -> None:
    """Refuse keys that are not served here, unless they are given their default.

    Raises:
        ConfigError: with the note of the key.
    """
    for name in given:
        key = keys[name]
        # An empty list requests nothing.
        if key.status is KeyStatus.REFUSED and values[name] not in (key.default, ()):
            shown = "(hidden)" if key.type is ValueType.PASSWORD else repr(given[name])
            raise ConfigError(f"{name}={shown} is refused: {key.note}")


def unknown_key(keys: Mapping[str, ConfigKey], name: str, *, replaced: Mapping[str, str]) -> ConfigError:
    """Return the error for a name that is no key, with the nearest name or the replacement."""
    dotted = name.replace("_", ".")
    if dotted in replaced:
        return ConfigError(
            f"unknown configuration {name!r}: only the Scala producer had it; use instead: {replaced[dotted]}"
        )
    nearest = get_close_matches(dotted, keys, n=1)
    hint = f"; did you mean {nearest[0]}?" if nearest else ""
    return ConfigError(f"unknown configuration {name!r}{hint}")


def _value_of(key: ConfigKey, value: object) -> object:
    parsed = parsed_value(key, value)
    if key.type is ValueType.CLASS and key.status is not KeyStatus.REFUSED:
        parsed = loaded_class(key.name, parsed)
    return checked_value(key, parsed)

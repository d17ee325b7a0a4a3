"""Given configurations by name, parsed and checked against the keys of one client. Mirrors ConfigDef.parse.

A key that the client does not have raises an error with the nearest name, where Java only logs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_client.config.class_values import loaded_class
from broker_client.config.config_key import ConfigKey, KeyStatus, ValueType
from broker_client.config.value_parsing import checked_value, parsed_value
from broker_client.errors import ConfigError
from protocol_specs.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["parsed_values", "refuse_given", "unknown_key"]


def parsed_values(
    keys: Mapping[str, ConfigKey], pairs: Iterable[tuple[str, object]], *, replaced: Mapping[str, str]
) -> tuple[dict[str, object], dict[str, Any]]:
    """Return the given values by the names of their keys, and the parsed values of all keys with the defaults.

    Given names may have underscores for dots. `replaced` maps the names of older releases to their replacements.

    Raises:
        ConfigError: names are unknown or given twice, values have the wrong type or are out of range, or required ones
            are missing; with a line for each.
    """
    mistakes: list[ConfigError] = []
    given: dict[str, object] = {}
    for name, value in pairs:
        dotted = name.replace("_", ".")
        if dotted not in keys:
            mistakes.append(unknown_key(keys, name, replaced=replaced))
        elif dotted in given:
            mistakes.append(ConfigError(f"{dotted} is given twice"))
        else:
            given[dotted] = value
    values: dict[str, Any] = {}
    for key in keys.values():
        try:
            values[key.name] = _value_of(key, given[key.name]) if key.name in given else _default_of(key)
        except ConfigError as error:
            mistakes.append(error)
    if len(mistakes) == 1:
        raise mistakes[0]
    if mistakes:
        raise ConfigError("\n".join(map(str, mistakes)))
    return given, values


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
    return ConfigError(f"unknown configuration {name!r}{nearest(dotted, keys)}")


def _default_of(key: ConfigKey) -> object:
    if key.required:
        raise ConfigError(f"missing required configuration {key.name}, which has no default value")
    return key.default


def _value_of(key: ConfigKey, value: object) -> object:
    parsed = parsed_value(key, value)
    if key.type is ValueType.CLASS and key.status is not KeyStatus.REFUSED:
        parsed = loaded_class(key.name, parsed)
    return checked_value(key, parsed)

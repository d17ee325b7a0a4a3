"""Parses and validates a given value by its key. Mirrors ConfigDef.parseType and its validators.

Text is trimmed and numbers are parsed as in Java: no underscores, no inner spaces. Python's types are accepted in place
of Java's; an `int` must be in the range of the key's type.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_client.config.config_key import ConfigKey, ValueType
from broker_client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ConfigText", "checked_value", "config_text", "parsed_value"]

ConfigText: TypeAlias = str | int | float | bool
"""A configuration that a broker receives as text."""

# String.trim() removes all characters up to the space, and no others.
_TRIMMED: Final = "".join(map(chr, range(33)))
_WHOLE: Final = re.compile(r"[+-]?\d+")
_REAL: Final = re.compile(r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?)")
_COMMA: Final = re.compile(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*")
_TRUE_AND_FALSE: Final = {"true": True, "false": False}
_BITS: Final[Mapping[ValueType, int]] = {ValueType.SHORT: 16, ValueType.INT: 32, ValueType.LONG: 64}
_NULLABLE: Final = (ValueType.CLASS, ValueType.PASSWORD, ValueType.STRING)
# Keys of type string for which YAML and JSON often have numbers.
_NUMBER_AS_TEXT: Final = ("acks",)


def parsed_value(key: ConfigKey, value: object) -> object:
    """Return the value in the key's type, without validation.

    Raises:
        ConfigError: the value cannot be converted to the type.
    """
    if value is None:
        return None
    try:
        return _PARSERS[key.type](key, value)
    except (TypeError, ValueError, KeyError):
        raise ConfigError(f"{key.name}={_shown(key, value)}: expected {_EXPECTED[key.type]}") from None


def checked_value(key: ConfigKey, value: object) -> object:
    """Validate a parsed value; return it without repeated elements.

    Raises:
        ConfigError: the value is out of range, not one of the valid texts, or empty.
    """
    if isinstance(value, tuple):
        return _checked_list(key, value)
    if value is None:
        if key.type in _NULLABLE and not key.one_of and key.default != "":
            return None
        # Numbers without a default are optional.
        if key.type is not ValueType.LIST and key.default is None and not key.has_range:
            return None
        raise ConfigError(f"{key.name}=None: expected {_EXPECTED[key.type]}")
    if key.one_of and (str(value).upper() if key.ignore_case else value) not in key.one_of:
        raise ConfigError(f"{key.name}={value!r}: expected one of {', '.join(key.one_of)}")
    if key.non_empty and value == "":
        raise ConfigError(f"{key.name}='': expected a text that is not empty")
    if key.has_range and isinstance(value, (int, float)) and value not in key.also:
        _check_range(key, value)
    return value


def config_text(name: str, value: object) -> str:
    """Return a broker's or topic's configuration as the text that the wire has: `True` as "true", numbers in decimal.

    Raises:
        ConfigError: the value is neither text nor a number nor a boolean.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    raise ConfigError(f"{name}={value!r}: expected a text, a number or a boolean")


def _check_range(key: ConfigKey, value: float) -> None:
    low, high = key.minimum, key.maximum
    if (low is None or not value < low) and (high is None or not value > high):
        return
    expected = f"at least {low}" if high is None else f"between {low} and {high}"
    also = f", or {', '.join(str(one) for one in key.also)}" if key.also else ""
    raise ConfigError(f"{key.name}={value!r}: expected {expected}{also}")


def _checked_list(key: ConfigKey, value: tuple[object, ...]) -> tuple[object, ...]:
    if "" in value:
        raise ConfigError(f"{key.name}={','.join(map(str, value))!r}: one of its elements is empty")
    if key.required and not value:
        raise ConfigError(f"{key.name}='': expected at least one element")
    kept: list[object] = []
    for element in value:
        if element not in kept:
            kept.append(element)
    return tuple(kept)


def _shown(key: ConfigKey, value: object) -> str:
    return "(hidden)" if key.type is ValueType.PASSWORD else repr(value)


def _whole_number(key: ConfigKey, value: object) -> int:
    if isinstance(value, str):
        trimmed = value.strip(_TRIMMED)
        if not _WHOLE.fullmatch(trimmed):
            raise ValueError(value)
        number = int(trimmed)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    else:
        raise TypeError(value)
    limit = 1 << (_BITS[key.type] - 1)
    if not -limit <= number < limit:
        raise ValueError(value)
    return number


def _real_number(_: ConfigKey, value: object) -> float:
    if isinstance(value, bool):
        raise TypeError(value)
    if isinstance(value, (int, float)):
        return float(value)
    if not isinstance(value, str):
        raise TypeError(value)
    trimmed = value.strip(_TRIMMED)
    if not _REAL.fullmatch(trimmed):
        raise ValueError(value)
    return float(trimmed if trimmed.endswith("Infinity") else trimmed.rstrip("dDfF"))


def _boolean(_: ConfigKey, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise TypeError(value)
    return _TRUE_AND_FALSE[value.strip(_TRIMMED).lower()]


def _text(key: ConfigKey, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and key.name in _NUMBER_AS_TEXT:
        return str(value)
    if not isinstance(value, str):
        raise TypeError(value)
    return value.strip(_TRIMMED)


def _elements(_: ConfigKey, value: object) -> tuple[object, ...]:
    if isinstance(value, str):
        trimmed = value.strip(_TRIMMED)
        return tuple(_COMMA.split(trimmed)) if trimmed else ()
    if isinstance(value, (list, tuple)):
        return tuple(value)
    raise TypeError(value)


def _anything(_: ConfigKey, value: object) -> object:
    return value.strip(_TRIMMED) if isinstance(value, str) else value


_PARSERS: Final[Mapping[ValueType, Callable[[ConfigKey, object], object]]] = {
    ValueType.BOOLEAN: _boolean,
    ValueType.CLASS: _anything,
    ValueType.DOUBLE: _real_number,
    ValueType.INT: _whole_number,
    ValueType.LIST: _elements,
    ValueType.LONG: _whole_number,
    ValueType.PASSWORD: _text,
    ValueType.SHORT: _whole_number,
    ValueType.STRING: _text,
}
_EXPECTED: Final[Mapping[ValueType, str]] = {
    ValueType.BOOLEAN: "true or false",
    ValueType.CLASS: "an object, a class or its dotted name",
    ValueType.DOUBLE: "a number",
    ValueType.INT: "a whole number of 32 bits",
    ValueType.LIST: "a text with commas, or a list",
    ValueType.LONG: "a whole number of 64 bits",
    ValueType.PASSWORD: "a text",
    ValueType.SHORT: "a whole number of 16 bits",
    ValueType.STRING: "a text",
}

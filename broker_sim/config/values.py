"""Text to typed configuration values and back, with Kafka's refusals. Mirrors ConfigDef and its validators."""

from __future__ import annotations

import math
import re
from typing import Final

from broker_sim.config.definitions import ConfigDefinition, ConfigType, ConfigValue
from broker_sim.errors import ConfigError
from protocol_specs.java_duration import duration_ms

_VERSION_NAMES: Final = ("message.format.version", "log.message.format.version", "inter.broker.protocol.version")
_THROTTLED_NAMES: Final = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
_ANY_ITEMS: Final = (*_THROTTLED_NAMES, "config.providers")
"""Lists that 4.x takes as they are written."""
_NEVER_EMPTY: Final = (
    "advertised.listeners",
    "group.consumer.assignors",
    "group.coordinator.rebalance.protocols",
    "group.share.assignors",
    "listeners",
)
_RESET_NAME: Final = "share.auto.offset.reset"
_BY_DURATION: Final = "by_duration:"
_NOT_EMPTY: Final = "non-empty string"
_THROTTLED_REPLICA: Final = re.compile(r"([0-9]+:[0-9]+)?")
_JAVA_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?")
_JAVA_HEXADECIMAL: Final = re.compile(r"[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?")
_JAVA_NOT_FINITE: Final = re.compile(r"[+-]?(NaN|Infinity)")
TRIMMED: Final = "".join(map(chr, range(0x21)))
"""The characters that Java's String.trim removes."""
_CHAR_MAX: Final = "\uffff"
KAFKA_CLASSES: Final = ("org.apache.kafka.", "kafka.")
_KNOWN_CLASSES: Final = (*KAFKA_CLASSES, "java.lang.", "java.util.")
"""Packages whose classes are assumed to exist: no other is on a broker's class path."""
_INTEGER_BITS: Final = {ConfigType.INT: 32, ConfigType.SHORT: 16, ConfigType.LONG: 64}


class ConfigValueError(ConfigError):
    """A value that its configuration rejects, with the text of Kafka's ConfigException."""

    def __init__(self, name: str, value: object, reason: str) -> None:
        super().__init__(f"Invalid value {value} for configuration {name}: {reason}")
        self.name = name
        self.value = value
        self.reason = reason


class NamelessConfigError(ConfigError):
    """An error of Kafka whose text does not name the configuration that it is `about`."""

    def __init__(self, reason: str, *, about: str) -> None:
        super().__init__(reason)
        self.about = about


def parse_value(definition: ConfigDefinition, text: str) -> ConfigValue:
    """The typed and validated value of a text; ConfigValueError otherwise."""
    value = _parse(definition, text)
    if isinstance(value, list) and definition.empty_items_refused and definition.name not in _ANY_ITEMS:
        value = _distinct(definition, value)
    _check_range(definition, value)
    _check_choice(definition, value)
    return value


def render_value(definition: ConfigDefinition, value: ConfigValue) -> str | None:
    """The text that DescribeConfigs shows for a typed value."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(value)
    if definition.type is ConfigType.DOUBLE:
        return _java_double(float(value))
    return str(value)


def _parse(definition: ConfigDefinition, text: str) -> ConfigValue:
    name, kind = definition.name, definition.type
    trimmed = text.strip(TRIMMED)
    if kind is ConfigType.BOOLEAN:
        if trimmed.lower() not in {"true", "false"}:
            raise ConfigValueError(name, text, "Expected value to be either true or false")
        return trimmed.lower() == "true"
    if kind in _INTEGER_BITS:
        return _integer(definition, text)
    if kind is ConfigType.DOUBLE:
        return _double(name, text)
    if kind is ConfigType.LIST:
        return [item.strip() for item in trimmed.split(",")] if trimmed else []
    if kind is ConfigType.PASSWORD:
        return text
    if kind is ConfigType.CLASS and not trimmed.startswith(_KNOWN_CLASSES):
        raise ConfigValueError(name, text, f"Class {text} could not be found.")
    return trimmed


def _distinct(definition: ConfigDefinition, items: list[str]) -> list[str]:
    """Normalize a list as 4.x does: no empty items, and each item once (KIP-1161)."""
    for item in items:
        if not item:
            msg = f"Configuration '{definition.name}' values must not be empty."
            raise ConfigError(msg)
        _check_item(definition, item)
    if not items and definition.name in _NEVER_EMPTY:
        valid = f"[{', '.join(definition.list_of)}]" if definition.list_of else "any non-empty value"
        raise ConfigError(f"Configuration '{definition.name}' must not be empty. Valid values include: {valid}")
    return list(dict.fromkeys(items))


def parse_integer(text: str, bits: int) -> int | None:
    """Parse as Java's parseInt (32 bits) or parseLong of a trimmed text; None for any other text."""
    trimmed = text.strip(TRIMMED)
    digits = trimmed[1:] if trimmed[:1] in {"-", "+"} else trimmed
    # Digits of any script, as Character.digit reads a char: none beyond the basic plane.
    if digits.isdecimal() and max(digits) <= _CHAR_MAX:
        value = int(trimmed)
        if -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            return value
    return None


def _integer(definition: ConfigDefinition, text: str) -> int:
    value = parse_integer(text, _INTEGER_BITS[definition.type])
    if value is None:
        raise ConfigValueError(definition.name, text, f"Not a number of type {definition.type.name}")
    return value


def _double(name: str, text: str) -> float:
    """Parse as Double.parseDouble: a suffix f or d, hexadecimal with an exponent, NaN and Infinity; no underscores."""
    trimmed = text.strip(TRIMMED)
    if _JAVA_DECIMAL.fullmatch(trimmed):
        return float(trimmed.rstrip("fFdD"))
    if _JAVA_HEXADECIMAL.fullmatch(trimmed):
        return float.fromhex(trimmed.rstrip("fFdD") if trimmed[-1] in "fFdD" else trimmed)
    if _JAVA_NOT_FINITE.fullmatch(trimmed):
        return float(trimmed)
    raise ConfigValueError(name, text, "Not a number of type DOUBLE")


def _check_range(definition: ConfigDefinition, value: ConfigValue) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value in definition.also:
        return
    low, high = definition.minimum, definition.maximum
    shown = _java_double(value) if isinstance(value, float) else value
    if definition.also and not (low is not None and high is not None and low <= value <= high):
        reason = f"Value must be between {low} and {high} or equal to {definition.also[0]}"
        raise ConfigValueError(definition.name, shown, reason)
    if definition.minimum is not None and value < definition.minimum:
        raise ConfigValueError(definition.name, shown, f"Value must be at least {definition.minimum}")
    if definition.maximum is not None and value > definition.maximum:
        raise ConfigValueError(definition.name, shown, f"Value must be no more than {definition.maximum}")


def _check_choice(definition: ConfigDefinition, value: ConfigValue) -> None:
    if definition.name in _VERSION_NAMES:
        _check_version(definition, value)
        return
    if definition.name == _RESET_NAME:
        _check_reset(str(value))
        return
    if definition.name in _THROTTLED_NAMES and isinstance(value, list):
        _check_throttled_replicas(definition, value)
    if definition.one_of and isinstance(value, str):
        known = [choice.lower() for choice in definition.one_of] if definition.ignore_case else definition.one_of
        if (value.lower() if definition.ignore_case else value) not in known:
            cases = " (case insensitive)" if definition.ignore_case else ""
            reason = f"String must be one of{cases}: {', '.join(definition.one_of)}"
            raise ConfigValueError(definition.name, value, reason)
    if definition.rule == _NOT_EMPTY and value == "":
        raise ConfigValueError(definition.name, value, "String must be non-empty")
    if definition.list_of and isinstance(value, list):
        for item in value:
            _check_item(definition, item)


def _check_item(definition: ConfigDefinition, item: str) -> None:
    if definition.list_of and item not in definition.list_of:
        raise ConfigValueError(definition.name, item, f"String must be one of: {', '.join(definition.list_of)}")


def _check_version(definition: ConfigDefinition, value: ConfigValue) -> None:
    """A version may be cut before its IV suffix, and have a patch: 2.0 and 2.0.1 are 2.0-IV1, 0.9.0.1 is 0.9.0."""
    parts = str(value).split(".")
    version = ".".join(parts[: 3 if parts[0] == "0" else 2])
    if value is not None and not any(f"{known}-".startswith(f"{version}-") for known in definition.one_of):
        raise ConfigValueError(definition.name, value, f"Version {value} is not a valid version")


def _check_throttled_replicas(definition: ConfigDefinition, value: list[str]) -> None:
    if value == ["*"] or all(_THROTTLED_REPLICA.fullmatch(item) for item in value):
        return
    reason = (
        f"{definition.name} must be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
    )
    raise ConfigValueError(definition.name, f"[{', '.join(value)}]", reason)


def _java_double(value: float) -> str:
    """A double as Java prints it: 0.5, 1.0E10, 1.7976931348623157E308."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        mantissa, _, exponent = f"{value:.16e}".partition("e")
        mantissa = mantissa.rstrip("0")
    if "." not in mantissa:
        mantissa += ".0"
    elif mantissa.endswith("."):
        mantissa += "0"
    return f"{mantissa}E{int(exponent)}"


def _check_reset(text: str) -> None:
    """Check where a share group starts. Mirrors ShareGroupAutoOffsetResetStrategy.Validator."""
    if text in {"earliest", "latest"} or reset_duration_ms(text) is not None:
        return
    reason = (
        f"Invalid value `{text}` for configuration {_RESET_NAME}. The value must be either 'earliest', 'latest' or of "
        "the format 'by_duration:<PnDTnHnMn.nS>'."
    )
    raise ConfigValueError(_RESET_NAME, text, reason)


def reset_duration_ms(text: str) -> int | None:
    """Return how long before now a share group starts; None if the text is no `by_duration:` with such a time."""
    if not text.startswith(_BY_DURATION):
        return None
    try:
        length_ms = duration_ms(text.removeprefix(_BY_DURATION))
    except ValueError:
        return None
    return length_ms if length_ms >= 0 else None

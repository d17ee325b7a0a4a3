"""Validates changes of a running broker's listeners: values that cannot be parsed, and those that cannot change.

Mirrors the part of KafkaConfig.validateValues about listeners and DynamicListenerConfig.validateReconfiguration. A real
combined broker and controller has the controller's listener among its own, which must stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from broker_sim.config.listeners import (
    ADVERTISED,
    CONTROLLER_NAMES,
    DEFAULT_CONTROLLER,
    LISTENERS,
    PROTOCOL_MAP,
    SecurityProtocol,
)
from broker_sim.errors import ConfigError
from protocol_specs.java_hash import hash_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.config.broker_config import BrokerConfig

__all__ = [
    "check_listener_names",
    "check_listener_texts",
    "check_listeners_stay",
    "comma_separated_pairs",
    "listener_names",
    "listener_protocols",
]

_END_POINT: Final = re.compile(r".+://\[?[0-9a-zA-Z\-%._:]*\]?:-?[0-9]+")
_DEFAULT: Final = "PLAINTEXT"


def comma_separated_pairs(config: BrokerConfig, option: str) -> dict[str, str]:
    """Return `key:value` pairs, split at the last colon, in the order of Kafka's map; the last of a key counts.

    Raises:
        ConfigError: An item has no colon.
    """
    pairs: dict[str, str] = {}
    for pair in filter(None, (each.strip() for each in str(config[option]).split(","))):
        key, colon, value = pair.rpartition(":")
        if not colon:
            msg = f"Error parsing configuration property '{option}': begin 0, end -1, length {len(pair)}"
            raise ConfigError(msg)
        pairs[key.strip()] = value.strip()
    order = pairs if config.behaviour.scala_collections_in_messages else hash_order(pairs)
    return {key: pairs[key] for key in order}


def listener_names(config: BrokerConfig) -> list[str]:
    """The names of a broker's listeners by its file; configurations of other listeners change nothing."""
    text = config.static.get(LISTENERS)
    return [_DEFAULT] if text is None else [each.partition("://")[0].strip().upper() for each in text.split(",")]


def check_listener_texts(new: BrokerConfig) -> None:
    """Raise ConfigError for the first text about where a broker listens that cannot be read."""
    _bound_names(new)


def check_listener_names(new: BrokerConfig) -> None:
    """Raise ConfigError for listeners that are set dynamically and that a broker cannot have together."""
    if LISTENERS not in new.dynamic_own and ADVERTISED not in new.dynamic_own:
        return
    named = _bound_names(new)
    _require(
        DEFAULT_CONTROLLER in named,
        f"{CONTROLLER_NAMES} must contain at least one value appearing in the '{LISTENERS}' configuration when "
        "running the KRaft controller role",
    )
    advertised = listener_names(new)
    if ADVERTISED in new.dynamic_own:
        advertised = _named(new, ADVERTISED, listener_protocols(new))
        _require(
            DEFAULT_CONTROLLER not in advertised,
            f"The {ADVERTISED} config must not contain KRaft controller listeners from {CONTROLLER_NAMES} when "
            "process.roles contains the broker role because Kafka clients that send requests via advertised listeners "
            "do not send requests to KRaft controllers -- they only send requests to KRaft brokers.",
        )
        _require(
            bool(advertised),
            f"There must be at least one advertised listener. Perhaps all listeners appear in {CONTROLLER_NAMES}?",
        )
    _require(
        all(each in named for each in advertised),
        f"{ADVERTISED} listener names must be equal to or a subset of the ones defined in {LISTENERS}. Found "
        f"{','.join(advertised)}. The valid options based on the current configuration are {','.join(named)}",
    )


def check_listeners_stay(old: BrokerConfig, new: BrokerConfig) -> None:
    """Raise ConfigError for a change that a running broker's listeners do not allow."""
    before, after = listener_protocols(old), listener_protocols(new)
    for name in _all_names(old) if PROTOCOL_MAP in new.dynamic_own else ():
        if before.get(name, SecurityProtocol.PLAINTEXT) != after.get(name):
            raise ConfigError(f"Security protocol cannot be updated for existing listener ListenerName({name})")
    if ADVERTISED in new.dynamic_own and new.dynamic_own[ADVERTISED] != old.overrides.get(ADVERTISED):
        raise ConfigError("Advertised listeners cannot be altered when using a Raft-based metadata quorum.")


def _bound_names(new: BrokerConfig) -> list[str]:
    protocols = listener_protocols(new)
    if LISTENERS in new.dynamic_own:
        return _named(new, LISTENERS, protocols)
    names = _all_names(new)
    items = [f"{name}://" for name in names]
    _check_protocols(items, protocols, shown=_shown(new, items))
    return names


def _all_names(config: BrokerConfig) -> list[str]:
    return list(dict.fromkeys([*listener_names(config), DEFAULT_CONTROLLER]))


def listener_protocols(config: BrokerConfig) -> dict[str, SecurityProtocol]:
    """Return the security protocol of each name in listener.security.protocol.map.

    Raises:
        ConfigError: A name is empty, or a protocol is unknown.
    """
    known = {each.value: each for each in SecurityProtocol}
    protocols: dict[str, SecurityProtocol] = {}
    for name, protocol in comma_separated_pairs(config, PROTOCOL_MAP).items():
        if not name:
            raise ConfigError("The provided listener name is null or empty string")
        if protocol.upper() not in known:
            raise ConfigError(f"Invalid security protocol `{protocol}` defined in {PROTOCOL_MAP}")
        protocols[name.upper()] = known[protocol.upper()]
    if PROTOCOL_MAP not in config.dynamic_own:  # a simulated broker's file may leave the controller's listener out
        protocols.setdefault(DEFAULT_CONTROLLER, SecurityProtocol.PLAINTEXT)
    return protocols


def _named(config: BrokerConfig, option: str, protocols: Mapping[str, SecurityProtocol]) -> list[str]:
    """The names of the listeners of a dynamic configuration, in capitals."""
    value = config[option]
    items = value if isinstance(value, list) else [each.strip() for each in str(value).split(",")]
    found = [each for each in items if each]
    shown = _shown(config, found) if isinstance(value, list) else str(value).strip()
    _check_protocols(found, protocols, shown=shown)
    names = [each.partition("://")[0].upper() for each in found]
    if len(set(names)) < len(names):
        words = f"Each listener must have a different name, listeners: {shown}"
        if config.behaviour.scala_collections_in_messages:
            raise ConfigError(f"requirement failed: {words}")
        raise ConfigError(f"Error creating broker listeners from '{shown}': {words}")
    return names


def _check_protocols(items: list[str], protocols: Mapping[str, SecurityProtocol], *, shown: str) -> None:
    for item in items:
        name = item.partition("://")[0].upper()
        if item != f"{name}://" and not _END_POINT.fullmatch(item):
            reason = f"Unable to parse {item} to a broker endpoint"
        elif name not in protocols:
            reason = f"No security protocol defined for listener {name}"
        else:
            continue
        raise ConfigError(f"Error creating broker listeners from '{shown}': {reason}")


def _shown(config: BrokerConfig, items: list[str]) -> str:
    return ",".join(items) if config.behaviour.scala_collections_in_messages else f"[{', '.join(items)}]"


def _require(holds: bool, words: str) -> None:  # noqa: FBT001 - reads as Scala's require
    if not holds:
        raise ConfigError(f"requirement failed: {words}")

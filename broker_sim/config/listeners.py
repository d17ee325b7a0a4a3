"""Parses the listeners of a broker's file: bound, advertised, and those of other brokers. Mirrors the part of
KafkaConfig about listeners, SocketServerConfigs.listenerListToEndPoints and EndPoint.

Invalid listeners are rejected with Kafka's texts, those of 3.x or of 4.x. The controllers of this simulator need no
listener: one in `listener.security.protocol.map` or, with the controller role, in `listeners` is validated and ignored.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from broker_sim.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_sim.config.broker_config import BrokerConfig

__all__ = ["EndPoint", "ListenerConfig", "SecurityProtocol", "listener_config"]

LISTENERS: Final = "listeners"
ADVERTISED: Final = "advertised.listeners"
PROTOCOL_MAP: Final = "listener.security.protocol.map"
INTER_BROKER_NAME: Final = "inter.broker.listener.name"
INTER_BROKER_PROTOCOL: Final = "security.inter.broker.protocol"
CONTROL_PLANE: Final = "control.plane.listener.name"
CONTROLLER_NAMES: Final = "controller.listener.names"
ROLES: Final = "process.roles"
SASL_INTER_BROKER: Final = "sasl.mechanism.inter.broker.protocol"
SASL_MECHANISMS: Final = "sasl.enabled.mechanisms"
DEFAULT_CONTROLLER: Final = "CONTROLLER"
META_ADDRESS: Final = "0.0.0.0"
_END_POINT: Final = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
_NAMED: Final = re.compile(r"(.*)://.*")
_INT32: Final = range(-(2**31), 2**31)
_NO_NAME: Final = "The provided listener name is null or empty string"


class SecurityProtocol(Enum):
    """The security of a listener's connections. Mirrors org.apache.kafka.common.security.auth.SecurityProtocol."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"


_WITH_SASL: Final = (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndPoint:
    """One `NAME://host:port`; without a host it is every address of the machine."""

    listener: str
    security_protocol: SecurityProtocol
    host: str | None
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerConfig:
    """The listeners of a broker's file, validated."""

    bound: tuple[EndPoint, ...]
    advertised: tuple[EndPoint, ...]
    inter_broker: str
    control_plane: str | None


def listener_config(config: BrokerConfig) -> ListenerConfig:
    """The listeners that a file gives, or ConfigError."""
    return _Parser(config).parse()


class _Parser:
    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._texts = config.static
        self._scala = config.behaviour.scala_collections_in_messages
        self._zookeeper = config.behaviour.zookeeper
        named = str(self._texts.get(CONTROLLER_NAMES, DEFAULT_CONTROLLER))
        self._controllers = [] if self._zookeeper else _split(named)
        self._protocols = self._protocol_map()

    def parse(self) -> ListenerConfig:
        """Parse and validate. Mirrors the part of KafkaConfig.validateValues about listeners.

        Raises:
            ConfigError: A listener is invalid, alone or with others.
        """
        given = self._texts.get(LISTENERS)
        listeners = self._end_points(f"PLAINTEXT://:{_DEFAULT_PORT}" if given is None else given, distinct_ports=True)
        self._check_controllers(listeners)
        advertised = listeners
        if ADVERTISED in self._texts:
            advertised = self._end_points(self._texts[ADVERTISED], distinct_ports=False)
        bound = [each for each in listeners if each.listener not in self._controllers]
        shown = [each for each in advertised if each.listener not in self._controllers]
        inter_broker = self._inter_broker()
        control_plane = self._control_plane()
        self._check_advertised(bound, shown, inter_broker)
        if control_plane is not None:
            self._check_control_plane(control_plane, shown, inter_broker)
        self._check_inter_broker_mechanism(inter_broker)
        return ListenerConfig(
            bound=tuple(bound), advertised=tuple(shown), inter_broker=inter_broker, control_plane=control_plane
        )

    def _protocol_map(self) -> Mapping[str, SecurityProtocol]:
        text = self._texts.get(PROTOCOL_MAP)
        if text is None:
            default = {protocol.value: protocol for protocol in SecurityProtocol}
            return default | dict.fromkeys(self._controllers, SecurityProtocol.PLAINTEXT)
        protocols: dict[str, SecurityProtocol] = {}
        for pair in _split(text):
            name, colon, protocol = pair.rpartition(":")
            if not colon:
                msg = f"Error parsing configuration property '{PROTOCOL_MAP}': begin 0, end -1, length {len(pair)}"
                raise ConfigError(msg)
            protocols[_normalised(name.strip())] = _protocol(protocol.strip(), PROTOCOL_MAP)
        if CONTROLLER_NAMES in self._texts:
            for name in self._controllers:
                if name.upper() not in protocols:
                    msg = (
                        f"Controller listener with name {name.upper()} defined in {CONTROLLER_NAMES} not found in "
                        f"{PROTOCOL_MAP}  (an explicit security mapping for each controller listener is required if "
                        f"{PROTOCOL_MAP} is non-empty, or if there are security protocols other than PLAINTEXT in use)"
                    )
                    raise ConfigError(msg)
        return protocols

    def _end_points(self, text: str, *, distinct_ports: bool) -> list[EndPoint]:
        items = _split(text)
        shown = text.strip() if self._scala else f"[{', '.join(items)}]"
        if PROTOCOL_MAP not in self._texts and not self._zookeeper and distinct_ports:
            # Kafka looks for SSL and SASL among the names before it looks at the rest.
            pattern = _END_POINT if self._scala else _NAMED
            for item in items:
                if not pattern.fullmatch(item):
                    raise ConfigError(f"Unable to parse a listener name from {item}")
        try:
            found = [self._end_point(item) for item in items]
        except ConfigError as error:
            raise ConfigError(f"Error creating broker listeners from '{shown}': {error}") from None
        refused = _refused(found, shown, distinct_ports=distinct_ports)
        if refused is not None:
            required, words = refused
            if not self._scala:
                words = f"Error creating broker listeners from '{shown}': {words}"
            raise ConfigError(f"requirement failed: {words}" if required and self._scala else words)
        return found

    def _end_point(self, text: str) -> EndPoint:
        found = _END_POINT.fullmatch(text)
        if found is None:
            raise ConfigError(f"Unable to parse {text} to a broker endpoint")
        name, host, port = _normalised(found[1]), found[2] or None, int(found[3])
        if port not in _INT32:
            raise ConfigError(f'For input string: "{found[3]}"')
        protocol = self._protocols.get(name)
        if protocol is None:
            raise ConfigError(f"No security protocol defined for listener {name}")
        return EndPoint(listener=name, security_protocol=protocol, host=host, port=port)

    def _inter_broker(self) -> str:
        name = self._texts.get(INTER_BROKER_NAME)
        if name is None:
            given = self._texts.get(INTER_BROKER_PROTOCOL, SecurityProtocol.PLAINTEXT.value)
            return _protocol(given, INTER_BROKER_PROTOCOL).value
        if INTER_BROKER_PROTOCOL in self._texts:
            raise ConfigError(f"Only one of {INTER_BROKER_NAME} and {INTER_BROKER_PROTOCOL} should be set.")
        normal = _normalised(name)
        if normal not in self._protocols:
            raise ConfigError(
                f"Listener with name {normal} defined in {INTER_BROKER_NAME} not found in {PROTOCOL_MAP}."
            )
        return normal

    def _check_inter_broker_mechanism(self, listener: str) -> None:
        """Validate the mechanism of brokers among each other. The simulated brokers need no login."""
        if self._protocols.get(listener) not in _WITH_SASL:
            return
        enabled = self._config.for_listener(SASL_MECHANISMS, listener)
        assert isinstance(enabled, list)
        _require(
            self._config[SASL_INTER_BROKER] in enabled,
            f"{SASL_INTER_BROKER} must be included in {SASL_MECHANISMS} when SASL is used for inter-broker "
            "communication",
        )

    def _control_plane(self) -> str | None:
        name = self._texts.get(CONTROL_PLANE)
        if name is None:
            return None
        _require(self._zookeeper, f"{CONTROL_PLANE} is not supported in KRaft mode.")
        normal = _normalised(name)
        if normal not in self._protocols:
            raise ConfigError(f"Listener with {normal} defined in {CONTROL_PLANE} not found in {PROTOCOL_MAP}.")
        return normal

    def _check_controllers(self, listeners: Sequence[EndPoint]) -> None:
        if "controller" in _split(self._texts.get(ROLES, "")):
            return
        _require(
            all(each.listener not in self._controllers for each in listeners),
            f"{CONTROLLER_NAMES} must not contain a value appearing in the '{LISTENERS}' configuration when running "
            "KRaft with just the broker role",
        )

    def _check_advertised(self, bound: Sequence[EndPoint], shown: Sequence[EndPoint], inter_broker: str) -> None:
        names = [each.listener for each in shown]
        perhaps = "" if self._zookeeper else f" Perhaps all listeners appear in {CONTROLLER_NAMES}?"
        _require(bool(names), f"There must be at least one advertised listener.{perhaps}")
        _require(
            inter_broker in names,
            f"{INTER_BROKER_NAME} must be a listener name defined in {ADVERTISED}. The valid options based on "
            f"currently configured listeners are {','.join(names)}",
        )
        known = [each.listener for each in bound]
        _require(
            all(name in known for name in names),
            f"{ADVERTISED} listener names must be equal to or a subset of the ones defined in {LISTENERS}. Found "
            f"{','.join(names)}. The valid options based on the current configuration are {','.join(known)}",
        )
        _require(
            all(each.host != META_ADDRESS for each in shown),
            f"{ADVERTISED} cannot use the nonroutable meta-address {META_ADDRESS}. Use a routable IP address.",
        )

    def _check_control_plane(self, name: str, shown: Sequence[EndPoint], inter_broker: str) -> None:
        names = [each.listener for each in shown]
        _require(
            name in names,
            f"{CONTROL_PLANE} must be a listener name defined in {ADVERTISED}. The valid options based on currently "
            f"configured listeners are {','.join(names)}",
        )
        _require(
            name != inter_broker,
            f"{CONTROL_PLANE}, when defined, should have a different value from the inter broker listener name. "
            f"Currently they both have the value ListenerName({name})",
        )


_DEFAULT_PORT: Final = 9092


def _refused(end_points: Sequence[EndPoint], shown: str, *, distinct_ports: bool) -> tuple[bool, str] | None:
    """Return why these are invalid together, and whether Kafka checks that by `require`."""
    if len({each.listener for each in end_points}) < len(end_points):
        return True, f"Each listener must have a different name, listeners: {shown}"
    if not distinct_ports:
        return None
    by_port: dict[int, list[EndPoint]] = {}
    for each in end_points:
        if each.port != 0:
            by_port.setdefault(each.port, []).append(each)
    for port, same in by_port.items():
        addresses = [found for each in same if (found := _address(each.host)) is not None]
        names = len(same) - len(addresses)
        two = (
            "If you have two listeners on the same port then one needs to be IPv4 and the other IPv6, listeners: "
            f"{shown}, port: {port}"
        )
        if names > 1:
            return True, f"Each listener must have a different port, listeners: {shown}"
        if len(same) == 1 or not addresses:
            continue
        if len(addresses) == 2:
            if addresses[0].version == addresses[1].version:
                return True, two
            if names:
                return False, two
        else:
            return False, (
                "Each listener must have a different port unless exactly one listener has an IPv4 address and the "
                f"other IPv6 address, listeners: {shown}, port: {port}"
            )
    return None


def _address(host: str | None) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return None if host is None else ipaddress.ip_address(host)
    except ValueError:
        return None


def _normalised(name: str) -> str:
    """A listener's name in capitals, as everywhere. Mirrors ListenerName.normalised."""
    if not name:
        raise ConfigError(_NO_NAME)
    return name.upper()


def _protocol(name: str, option: str) -> SecurityProtocol:
    try:
        return SecurityProtocol(name.upper())
    except ValueError:
        raise ConfigError(f"Invalid security protocol `{name}` defined in {option}") from None


def _split(text: str) -> list[str]:
    return [item for item in (each.strip() for each in text.split(",")) if item]


def _require(holds: bool, words: str) -> None:  # noqa: FBT001 - reads as Scala's require
    if not holds:
        raise ConfigError(f"requirement failed: {words}")

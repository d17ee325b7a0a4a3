"""The configuration of one running broker: its file, and the dynamic configurations (KIP-226). Mirrors
DynamicBrokerConfig and DynamicConfigPublisher.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from twisted.logger import Logger

from broker_sim.config.broker_config_validation import usable
from broker_sim.config.config_effect import has_effect
from broker_sim.config.config_resource import CLUSTER_DEFAULT, ResourceType
from broker_sim.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.config.broker_config import BrokerConfig

    Reconfigure = Callable[[BrokerConfig, BrokerConfig], None]

READ_AT_THE_START_ALONE: Final = ("advertised.listeners", "listener.security.protocol.map", "listeners")
"""Configurations that a running Kafka broker can change and this simulator cannot: its listeners are fixed."""

_log = Logger()


class ConfigurationsImage(Protocol):
    """The part of a metadata image that holds the dynamic configurations. Mirrors ConfigurationsImage."""

    def config_of(self, resource_type: int, name: str) -> Mapping[str, str]:
        """Return the configurations of one resource, by name."""


class DynamicBrokerConfig:
    """`current` is the present configuration; `subscribe` adds a callback for its changes."""

    __slots__ = ("_defaults", "_listeners", "_name", "_own", "_warned", "current")

    def __init__(self, config: BrokerConfig, broker_id: int | None) -> None:
        """Begin with the file alone; without a broker id only the defaults of all brokers apply."""
        self.current = config
        self._name = None if broker_id is None else str(broker_id)
        self._defaults: Mapping[str, str] = {}
        self._own: Mapping[str, str] = {}
        self._listeners: list[Reconfigure] = []
        self._warned: dict[str, None] = {}

    def subscribe(self, reconfigure: Reconfigure) -> None:
        """Call with the old and the new configuration after each change. Mirrors BrokerReconfigurable."""
        self._listeners.append(reconfigure)

    def apply(self, image: ConfigurationsImage) -> None:
        """Apply the metadata. Single invalid values are ignored; if the rest is invalid together, nothing changes."""
        defaults = image.config_of(ResourceType.BROKER, CLUSTER_DEFAULT)
        own = {} if self._name is None else image.config_of(ResourceType.BROKER, self._name)
        if defaults == self._defaults and own == self._own:
            return
        self._defaults, self._own = defaults, own
        old = self.current
        defaults, own = usable(defaults, old, per_broker=False), usable(own, old, per_broker=True)
        ignored = [name for name in self._defaults if name not in defaults]
        ignored += [name for name in self._own if name not in own]
        if ignored:
            _log.error(
                "Dynamic configurations of broker {name} contain invalid values in: {ignored}, these are ignored",
                name=self._name,
                ignored=", ".join(ignored),
            )
        try:
            self.current = old.with_dynamic(defaults, own)
        except ConfigError as error:
            _log.error("Dynamic configurations of broker {name} are ignored: {error}", name=self._name, error=error)
            return
        self._warn_of_no_effect()
        for reconfigure in self._listeners:
            reconfigure(old, self.current)

    def _warn_of_no_effect(self) -> None:
        for name in [*self._defaults, *self._own]:
            if name not in self._warned and (
                name in READ_AT_THE_START_ALONE or not has_effect(name, self.current.release)
            ):
                self._warned[name] = None
                _log.warn("This configuration has no effect in the simulator: {name}", name=name)

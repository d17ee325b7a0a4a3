"""Assigns listener addresses to the brokers of a cluster. Kafka has no counterpart: it has one file per broker.

One text configures all brokers of a machine: each port of `listeners` and `advertised.listeners` that is not 0 belongs
to broker 1, and broker 2 has the next one, as with `--port`. The value of a single broker (`2:listeners`) is used
unchanged.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from broker_sim.config.broker_listeners import BrokerListeners
from broker_sim.config.definitions import broker_definitions
from broker_sim.config.values import parse_value
from broker_sim.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_sim.config.broker_config import BrokerConfig

__all__ = ["ListenerPlan"]

_OF_LISTENERS: Final = frozenset(
    {
        "advertised.listeners",
        "control.plane.listener.name",
        "inter.broker.listener.name",
        "listener.security.protocol.map",
        "listeners",
        "security.inter.broker.protocol",
    }
)


_WITH_PORTS: Final = ("advertised.listeners", "listeners")
PORT_MAX: Final = 65_535
_PORT: Final = re.compile(r":([0-9]+)(?=\s*(?:,|$))")


class ListenerPlan:
    """The addresses of all brokers. `given` is the cluster's configuration as the user wrote it; with `one_machine` all
    brokers share the ports of one host.
    """

    def __init__(
        self,
        given: Mapping[str, str],
        *,
        broker_ids: Sequence[int],
        host: str | Callable[[int], str],
        ports: Sequence[int] | None,
        one_machine: bool,
    ) -> None:
        self._given = given
        self._broker_ids = broker_ids
        self._host = host
        self._ports = ports
        self._one_machine = one_machine
        self._bound: dict[tuple[str, int], int] = {}

    def file_of(self, broker_id: int, config: BrokerConfig) -> BrokerConfig:
        """Return a broker's configuration with its own ports where it shares the text with the first one.

        Raises:
            ConfigError: A port would exceed the last port.
        """
        offset = self._broker_ids.index(broker_id) if self._one_machine else 0
        texts = {
            name: _with_ports_shifted(config.static[name], offset, broker_id)
            for name in _WITH_PORTS
            if offset and name in config.static and f"{broker_id}:{name}" not in self._given
        }
        if not texts:
            return config
        definitions = broker_definitions(config.release)
        return replace(
            config,
            static={**config.static, **texts},
            overrides={**config.overrides, **texts},
            values={**config.values, **{name: parse_value(definitions[name], text) for name, text in texts.items()}},
        )

    def of(self, broker_id: int, config: BrokerConfig) -> BrokerListeners:
        """Return a broker's listeners: a single PLAINTEXT listener if its configuration defines none.

        Raises:
            ConfigError: The listeners are invalid, contradict `--port`, or bind an address twice.
        """
        host = self._host if isinstance(self._host, str) else self._host(broker_id)
        port = 0 if self._ports is None else self._ports[self._broker_ids.index(broker_id)]
        if config.static.keys().isdisjoint(_OF_LISTENERS):
            return BrokerListeners.single(host, port)
        if port:
            raise ConfigError(
                f"the port {port} and the configuration of listeners both set the address of broker {broker_id}"
            )
        found = BrokerListeners.configured(config, host)
        if self._one_machine:
            self._check_free(broker_id, found)
        return found

    def _check_free(self, broker_id: int, listeners: BrokerListeners) -> None:
        for each in listeners.all:
            if each.port:
                other = self._bound.setdefault((each.host, each.port), broker_id)
                if other != broker_id:
                    raise ConfigError(
                        f"listeners: broker {other} and broker {broker_id} would both bind {each.host}:{each.port}; "
                        "each broker takes the ports after those of the one before: leave room between two listeners"
                    )


def _with_ports_shifted(text: str, offset: int, broker_id: int) -> str:
    """Return the endpoints with each port that is not 0 higher by `offset`.

    Raises:
        ConfigError: A port would exceed the last port.
    """

    def shifted(port: re.Match[str]) -> str:
        number = int(port[1]) + offset
        if number > PORT_MAX and int(port[1]):
            raise ConfigError(f"{text!r}: broker {broker_id} would have port {number}; the last port is {PORT_MAX}")
        return f":{number}" if int(port[1]) else port[0]

    return _PORT.sub(shifted, text)

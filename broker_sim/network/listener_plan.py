"""Which broker of a cluster listens where, when its file has listeners. Mirrors nothing: Kafka has a file a broker.

One text serves all brokers of a machine: each port of `listeners` and `advertised.listeners` that is not 0 is broker
1's, and broker 2 has the next one, as with `--port`. What is given to a broker of its own (`2:listeners`) is taken as
it is.
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
    """`given` is the cluster's configuration as it was written; on `one_machine` all brokers share the ports."""

    def __init__(
        self,
        given: Mapping[str, str],
        *,
        host: str | Callable[[int], str],
        ports: Sequence[int] | None,
        one_machine: bool,
    ) -> None:
        self._given = given
        self._host = host
        self._ports = ports
        self._one_machine = one_machine
        self._bound: dict[tuple[str, int], int] = {}

    def file_of(self, broker_id: int, config: BrokerConfig) -> BrokerConfig:
        """A broker's configuration with the ports that are its own, where it shares the text with broker 1."""
        offset = broker_id - 1 if self._one_machine else 0
        texts = {
            name: _counted_on(config.static[name], offset)
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
        """A broker's listeners: PLAINTEXT alone when its file has no word of them."""
        host = self._host if isinstance(self._host, str) else self._host(broker_id)
        port = 0 if self._ports is None else self._ports[broker_id - 1]
        if config.static.keys().isdisjoint(_OF_LISTENERS):
            return BrokerListeners.single(host, port)
        if port:
            raise ConfigError(
                f"the port {port} and the configuration of listeners both set the address of broker {broker_id}"
            )
        found = BrokerListeners.configured(config, host)
        if self._one_machine:
            self._check_free(broker_id, found)
        else:
            _check_repeatable(found)
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


def _check_repeatable(listeners: BrokerListeners) -> None:
    """What runs on virtual time is a function of its seed, and TLS is none: OpenSSL draws keys of its own."""
    for each in listeners.all:
        if each.security_protocol != "PLAINTEXT":
            raise ConfigError(
                f"listener.security.protocol.map: {each.name} is {each.security_protocol}, which virtual time cannot "
                "have: OpenSSL draws its own random numbers, and no run could be repeated; serve it on TCP "
                "(broker-sim serve, ThreadedCluster), or make the listener PLAINTEXT"
            )


def _counted_on(text: str, offset: int) -> str:
    """Return the endpoints with each port that is not 0 higher by `offset`. Raises ConfigError past the last port."""

    def count_on(port: re.Match[str]) -> str:
        number = int(port[1]) + offset
        if number > PORT_MAX and int(port[1]):
            raise ConfigError(f"{text!r}: broker {offset + 1} would have port {number}; the last port is {PORT_MAX}")
        return f":{number}" if int(port[1]) else port[0]

    return _PORT.sub(count_on, text)

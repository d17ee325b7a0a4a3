"""The listeners of one running broker: bound and advertised addresses. Mirrors ListenerInfo and EndPoint.

A broker without listeners in its file has one, PLAINTEXT, on the address that its cluster gave it. An empty host is
bound to every address and advertised as that address; port 0 is the system's choice, kept for all incarnations.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.errors import ConfigError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.config.broker_config import BrokerConfig

__all__ = ["CONTROLLER_LISTENER", "DEFAULT_LISTENER", "KERNEL_BACKLOG", "BrokerListeners", "Listener"]

CONTROLLER_LISTENER: Final = "CONTROLLER"
DEFAULT_LISTENER: Final = "PLAINTEXT"
KERNEL_BACKLOG: Final = socket.SOMAXCONN
"""Connections that the kernel queues at a listener. Kafka's Acceptor has its own thread, which empties the queue while
requests are processed. Here one thread does both: a burst of clients would fill a queue of socket.listen.backlog.size,
and those beyond would connect a second later. That configuration limits the connections that the Acceptor has waiting.
"""
PORT_MAX: Final = 65_535


@dataclass(slots=True, kw_only=True)
class Listener:
    """One listener: `port` is the bound one, 0 until the system has chosen; `advertised_port` 0 means that one."""

    name: str
    host: str
    """The bound host; empty for every address."""
    port: int
    security_protocol: str
    advertised_host: str | None = None
    """None for a listener that is not advertised."""
    advertised_port: int = 0

    @property
    def endpoint(self) -> tuple[str, int] | None:
        """The advertised address: host and port."""
        return None if self.advertised_host is None else (self.advertised_host, self.advertised_port or self.port)


class BrokerListeners:
    """All listeners in the order of the file; `control_plane` names the one that the controller alone uses."""

    __slots__ = ("all", "control_plane", "inter_broker", "is_default")

    def __init__(
        self,
        listeners: list[Listener],
        *,
        inter_broker: str = DEFAULT_LISTENER,
        control_plane: str | None = None,
        is_default: bool = True,
    ) -> None:
        self.all = listeners
        self.inter_broker = inter_broker
        self.control_plane = control_plane
        self.is_default = is_default

    @classmethod
    def single(cls, host: str, port: int) -> BrokerListeners:
        """PLAINTEXT alone, bound and advertised alike."""
        listener = Listener(
            name=DEFAULT_LISTENER, host=host, port=port, security_protocol=DEFAULT_LISTENER, advertised_host=host
        )
        return cls([listener])

    @classmethod
    def configured(cls, config: BrokerConfig, host: str) -> BrokerListeners:
        """Return the listeners of the broker's file; an empty host is advertised as `host`."""
        # Only brokers with listeners in their file pay for reading them.
        from broker_sim.config.listeners import listener_config

        found = listener_config(config)
        advertised = {each.listener: each for each in found.advertised}
        listeners = []
        for each in found.bound:
            listener = Listener(
                name=each.listener,
                host=each.host or "",
                port=_port(each.port),
                security_protocol=each.security_protocol.value,
            )
            address = advertised.get(each.listener)
            if address is not None:
                listener.advertised_host = address.host or host
                listener.advertised_port = _port(address.port)
            listeners.append(listener)
        return cls(listeners, inter_broker=found.inter_broker, control_plane=found.control_plane, is_default=False)

    def find(self, name: str) -> Listener | None:
        """The listener of that name, if there is one."""
        return next((each for each in self.all if each.name == name.upper()), None)

    def named(self, name: str) -> Listener:
        """Return one listener.

        Raises:
            ConfigError: There is none of that name; the text lists the existing ones.
        """
        found = self.find(name)
        if found is None:
            known = [each.name for each in self.all]
            raise ConfigError(f"there is no listener {name!r}{nearest(name, known)}; there are {', '.join(known)}")
        return found

    @property
    def main(self) -> Listener:
        """The one for other brokers, by which the broker is known."""
        return self.named(self.inter_broker)

    @property
    def endpoints(self) -> Mapping[str, tuple[str, int]]:
        """The advertised addresses, by listener."""
        return {each.name: endpoint for each in self.all if (endpoint := each.endpoint) is not None}

    @property
    def text(self) -> str:
        """The text of `listeners`."""
        return ",".join(f"{each.name}://{each.host}:{each.port}" for each in self.all)

    @property
    def advertised_text(self) -> str:
        """The text of `advertised.listeners`."""
        return ",".join(f"{name}://{host}:{port}" for name, (host, port) in self.endpoints.items())


def _port(port: int) -> int:
    if not 0 <= port <= PORT_MAX:
        raise ConfigError(f"port out of range:{port}")
    return port

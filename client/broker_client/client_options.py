"""The few configurations of the small clients, under Kafka's names with underscores. Mirrors CommonClientConfigs."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from broker_client.bootstrap import parse_bootstrap_servers
from broker_client.core.network.client_core import ClientOptions
from broker_client.core.network.network_client import NetworkClientConfig
from broker_client.errors import ConfigError
from broker_client.security_config import SECURITY_KEYS, given_channel_builder

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["client_options"]

_DEFAULTS: Final[Mapping[str, int]] = {
    "request.timeout.ms": 30_000,
    "default.api.timeout.ms": 60_000,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 1_000,
    "connections.max.idle.ms": 540_000,
    "socket.connection.setup.timeout.ms": 10_000,
    "socket.connection.setup.timeout.max.ms": 30_000,
}


def client_options(options: Mapping[str, object], *, client_id: str) -> ClientOptions:
    """Parse what Consumer and Admin share; raises ConfigError for what is unknown or wrong."""
    given = {name.replace("_", "."): value for name, value in options.items()}
    if "bootstrap.servers" not in given:
        raise ConfigError("missing required configuration bootstrap.servers, which has no default value")
    servers = parse_bootstrap_servers(given.pop("bootstrap.servers"))
    client = given.pop("client.id", client_id)
    channels = given_channel_builder({name: given.pop(name) for name in SECURITY_KEYS if name in given})
    numbers = dict(_DEFAULTS)
    for name, value in given.items():
        if name not in _DEFAULTS:
            nearest = get_close_matches(name, [*_DEFAULTS, *SECURITY_KEYS, "bootstrap.servers", "client.id"], n=1)
            hint = f"; did you mean {nearest[0]}?" if nearest else ""
            raise ConfigError(f"unknown configuration {name!r}{hint}")
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ConfigError(f"{name}={value!r}: expected a number of milliseconds")
        numbers[name] = value
    return ClientOptions(
        bootstrap_servers=servers,
        default_api_timeout_ms=numbers["default.api.timeout.ms"],
        network=NetworkClientConfig(
            client_id=str(client),
            request_timeout_ms=numbers["request.timeout.ms"],
            reconnect_backoff_ms=numbers["reconnect.backoff.ms"],
            reconnect_backoff_max_ms=numbers["reconnect.backoff.max.ms"],
            connections_max_idle_ms=numbers["connections.max.idle.ms"],
            socket_connection_setup_timeout_ms=numbers["socket.connection.setup.timeout.ms"],
            socket_connection_setup_timeout_max_ms=numbers["socket.connection.setup.timeout.max.ms"],
            channel_builder=channels,
        ),
    )

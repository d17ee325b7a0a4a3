"""The configurations of Consumer and Admin, under Kafka's names with underscores. Mirrors CommonClientConfigs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from broker_client.bootstrap import parse_bootstrap_servers
from broker_client.config.consumer_keys import ADMIN_KEYS
from broker_client.config.given_values import by_dotted_name, parsed_values, refuse_given
from broker_client.core.network.client_core import ClientOptions
from broker_client.core.network.network_client import NetworkClientConfig
from broker_client.security_config import channel_builder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_client.config.config_key import ConfigKey

__all__ = ["client_options", "parsed_options"]


def parsed_options(keys: Mapping[str, ConfigKey], options: Mapping[str, object]) -> dict[str, object]:
    """Return the values of those `keys` that are in `options`, parsed as Java parses them.

    Raises:
        ConfigError: an option is unknown, has a wrong value or is not served, or bootstrap.servers is missing.
    """
    given = by_dotted_name(keys, options.items(), replaced={})
    values = parsed_values(keys, given)
    refuse_given(keys, given, values)
    return {name: values[name] for name in given}


def client_options(given: Mapping[str, object], *, client_id: str) -> ClientOptions:
    """Return the options that Consumer and Admin share, from parsed values by dotted names and the defaults.

    Raises:
        ConfigError: an address, the security protocol or a key store cannot be used.
    """

    def value_of(name: str) -> object:
        return given[name] if name in given else ADMIN_KEYS[name].default

    def milliseconds(name: str) -> int:
        return cast("int", value_of(name))

    return ClientOptions(
        bootstrap_servers=parse_bootstrap_servers(given["bootstrap.servers"]),
        default_api_timeout_ms=milliseconds("default.api.timeout.ms"),
        network=NetworkClientConfig(
            client_id=cast("str", given.get("client.id", client_id)),
            request_timeout_ms=milliseconds("request.timeout.ms"),
            reconnect_backoff_ms=milliseconds("reconnect.backoff.ms"),
            reconnect_backoff_max_ms=milliseconds("reconnect.backoff.max.ms"),
            connections_max_idle_ms=milliseconds("connections.max.idle.ms"),
            socket_connection_setup_timeout_ms=milliseconds("socket.connection.setup.timeout.ms"),
            socket_connection_setup_timeout_max_ms=milliseconds("socket.connection.setup.timeout.max.ms"),
            channel_builder=channel_builder(value_of),
        ),
    )

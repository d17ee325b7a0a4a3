"""The configurations of Consumer and Admin, under Kafka's names with underscores. Mirrors CommonClientConfigs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from broker_client.bootstrap import canonical_servers, parse_bootstrap_servers
from broker_client.config.consumer_keys import ADMIN_KEYS
from broker_client.config.given_values import parsed_values, refuse_given
from broker_client.core.network.client_core import RETRY_BACKOFF_MAX_MS, RETRY_BACKOFF_MS, ClientOptions
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
    given, values = parsed_values(keys, options.items(), replaced={})
    refuse_given(keys, given, values)
    return {name: values[name] for name in given}


def client_options(given: Mapping[str, object], *, client_id: str) -> ClientOptions:
    """Return the options that Consumer and Admin share, from parsed values by dotted names and the defaults.

    Raises:
        ConfigError: an address, the security protocol or a key store cannot be used.
    """

    def value_of(name: str) -> object:
        return given[name] if name in given else ADMIN_KEYS[name].default

    def number(name: str) -> int:
        return cast("int", value_of(name))

    servers = parse_bootstrap_servers(given["bootstrap.servers"])
    if value_of("client.dns.lookup") == "resolve_canonical_bootstrap_servers_only":
        servers = canonical_servers(servers)
    return ClientOptions(
        bootstrap_servers=servers,
        metadata_max_age_ms=number("metadata.max.age.ms"),
        default_api_timeout_ms=number("default.api.timeout.ms"),
        retry_backoff_ms=cast("int", given.get("retry.backoff.ms", RETRY_BACKOFF_MS)),
        retry_backoff_max_ms=cast("int", given.get("retry.backoff.max.ms", RETRY_BACKOFF_MAX_MS)),
        network=NetworkClientConfig(
            client_id=cast("str", given.get("client.id", client_id)),
            request_timeout_ms=number("request.timeout.ms"),
            reconnect_backoff_ms=number("reconnect.backoff.ms"),
            reconnect_backoff_max_ms=number("reconnect.backoff.max.ms"),
            connections_max_idle_ms=number("connections.max.idle.ms"),
            socket_connection_setup_timeout_ms=number("socket.connection.setup.timeout.ms"),
            socket_connection_setup_timeout_max_ms=number("socket.connection.setup.timeout.max.ms"),
            receive_buffer_bytes=number("receive.buffer.bytes"),
            send_buffer_bytes=number("send.buffer.bytes"),
            rebootstrap=cast("str", value_of("metadata.recovery.strategy")).lower() == "rebootstrap",
            rebootstrap_trigger_ms=number("metadata.recovery.rebootstrap.trigger.ms"),
            channel_builder=channel_builder(value_of),
        ),
    )

"""The checks of a cluster's shape as callers give it: brokers, ports, release, topics, configurations.

Every refusal names the argument, the value and what was expected, in one line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from os import PathLike
from typing import Any, Final, TypeAlias

from broker_sim.control.events import Detail
from broker_sim.errors import BrokerSimError, ConfigError
from broker_sim.metadata.topic_names import refused_name
from broker_sim.topic_spec import TopicSpec

__all__ = [
    "ConfigInput",
    "TopicsInput",
    "broker_ids_of",
    "check_options",
    "check_seed",
    "check_shape",
    "check_timeout",
    "config_changes",
    "config_texts",
    "topic_spec",
    "topic_specs",
]

BROKERS_MAX: Final = 1000
FIRST_BROKER_ID_MAX: Final = 1999
"""Controllers have ids from 3000 on; Kafka before KRaft generates ids of brokers from 1001 on."""
PORT_MAX: Final = 65_535
META_ADDRESS: Final = "0.0.0.0"

ConfigInput: TypeAlias = "Mapping[str, str | int | float | bool]"
"""Configurations by name; numbers and booleans are written as Kafka writes them."""
TopicsInput: TypeAlias = "Sequence[str | TopicSpec] | Mapping[str, int | TopicSpec]"
"""Topics as texts (`orders:6:3`) or specs, or numbers of partitions by name."""


def broker_ids_of(*, brokers: object, first_broker_id: object) -> range:
    """Return the ids of the brokers. Raises BrokerSimError for a number or a first id that is not allowed."""
    count = _whole_number("brokers", brokers)
    if not 1 <= count <= BROKERS_MAX:
        raise BrokerSimError(f"brokers: {brokers} is not between 1 and {BROKERS_MAX}")
    first = _whole_number("first_broker_id", first_broker_id)
    if not 0 <= first <= FIRST_BROKER_ID_MAX:
        raise BrokerSimError(f"first_broker_id: {first} is not between 0 and {FIRST_BROKER_ID_MAX}")
    return range(first, first + count)


def check_shape(*, brokers: int, ports: object, controller_ports: object, release: object, host: object) -> None:
    """Check what is no configuration. Raises BrokerSimError or ConfigError."""
    if not isinstance(host, str) and not callable(host):
        raise ConfigError(f"host: {host!r} is no text; expected an address such as '127.0.0.1'")
    if not isinstance(release, str):
        raise ConfigError(f"release: {release!r} is no text; expected a release such as '{release}' or '4.3.1'")
    if host == META_ADDRESS:
        raise ConfigError(
            f"host: clients cannot connect to {META_ADDRESS}, which would be advertised; expected an address of this "
            f"machine, or the configurations listeners=PLAINTEXT://{META_ADDRESS}:9092 and "
            "advertised.listeners=PLAINTEXT://NAME:9092"
        )
    if ports is not None:
        _check_ports("ports", ports)
        assert isinstance(ports, Sequence)
        if len(ports) != brokers:
            raise BrokerSimError(f"ports: {len(ports)} were given for {brokers} brokers")
    if controller_ports is not None:
        _check_ports("controller_ports", controller_ports)


def check_options(*, controllers: object, data_dir: object, journal_detail: object) -> None:
    """Check the kinds of further arguments. Raises BrokerSimError."""
    _whole_number("controllers", controllers)
    if data_dir is not None and not isinstance(data_dir, str | PathLike):
        raise BrokerSimError(f"data_dir: {data_dir!r} is no path; expected a folder's, or None for logs in memory")
    if not isinstance(journal_detail, Detail):
        expected = "expected Detail.CLUSTER or Detail.FULL of broker_sim.control.events"
        raise BrokerSimError(f"journal_detail: {journal_detail!r} is no Detail; {expected}")


def check_timeout(timeout_s: object) -> None:
    """Check the deadline of the calls to a cluster. Raises BrokerSimError."""
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not 0 < timeout_s < inf:
        raise BrokerSimError(f"timeout_s: {timeout_s!r} is no time; expected seconds above 0, such as timeout_s=30")


def check_seed(seed: object) -> None:
    """Check the seed of a cluster. Raises BrokerSimError."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise BrokerSimError(f"seed: {seed!r} is no whole number; expected one such as seed=7")


def _whole_number(name: str, number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise BrokerSimError(f"{name}: {number!r} is no whole number; expected one such as {name}=3")
    return number


def _check_ports(name: str, ports: object) -> None:
    if not isinstance(ports, Sequence) or isinstance(ports, str):
        raise BrokerSimError(f"{name}: {ports!r} is no list; expected one port per node, such as [9092]")
    for place, port in enumerate(ports, 1):
        if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= PORT_MAX:
            raise BrokerSimError(f"{name}: {port!r} (number {place}) is no port; expected 0 to {PORT_MAX}")


def config_texts(config: object, argument: str = "config") -> dict[str, str]:
    """Return configurations as the texts that Kafka's parsers take: 2 is `2`, True is `true`.

    Raises:
        ConfigError: the argument is no mapping, or a value is no text, number or boolean.
    """
    if not isinstance(config, Mapping):
        raise ConfigError(f"{argument}: {config!r} is no mapping; expected names with values, such as {_EXAMPLE}")
    return {str(name): _text(name, value) for name, value in config.items()}


def config_changes(config: Mapping[str, object]) -> dict[str, str | None]:
    """Return changes of configurations as `config_texts`; None deletes one. Raises as that."""
    texts = config_texts({name: value for name, value in config.items() if value is not None})
    return {name: texts.get(name) for name in config}


_EXAMPLE: Final = '{"min.insync.replicas": 2}'


def _text(name: object, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    kind = type(value).__name__
    raise ConfigError(f"configuration {name!r}: {value!r} is a {kind}; expected a text, a number or a boolean")


def topic_specs(topics: object) -> list[TopicSpec]:
    """Return the specs of topics.

    Raises:
        ConfigError: a topic is no text or TopicSpec, has a name that Kafka refuses, or comes twice.
    """
    if isinstance(topics, Mapping):
        specs = [_spec_of(name, value) for name, value in topics.items()]
    elif isinstance(topics, str) or not isinstance(topics, Iterable):
        raise ConfigError(f"topics: {topics!r} is no list; expected texts, such as ['orders:6:3']")
    else:
        specs = [topic_spec(topic) for topic in topics]
    names: dict[str, TopicSpec] = {}
    for spec in specs:
        if spec.name in names:
            raise ConfigError(f"topics: {spec.name!r} is given twice; expected one entry per topic")
        names[spec.name] = spec
    return specs


def _spec_of(name: Any, value: object) -> TopicSpec:
    if isinstance(value, TopicSpec):
        if value.name != name:
            raise ConfigError(f"topics: the spec of {name!r} has the name {value.name!r}")
        return _checked(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        expected = f"a number of partitions above 0, such as {{{name!r}: 3}}, or a TopicSpec"
        raise ConfigError(f"topics: {value!r} of {name!r}: expected {expected}")
    return _checked(TopicSpec(name=name, partitions=value))


def topic_spec(topic: object, configs: object = None) -> TopicSpec:
    """Return the spec of one topic, with further configurations. Raises ConfigError."""
    if configs is not None:
        spec = topic_spec(topic)
        return replace(spec, configs={**spec.configs, **config_texts(configs, f"configs of topic {spec.name!r}")})
    if isinstance(topic, TopicSpec):
        return _checked(topic)
    if not isinstance(topic, str):
        raise ConfigError(f"topic {topic!r}: expected name:partitions:replication, such as orders:6:3, or a TopicSpec")
    return _checked(TopicSpec.parse(topic))


def _checked(spec: TopicSpec) -> TopicSpec:
    refused = refused_name(spec.name)
    if refused is not None:
        raise ConfigError(f"topic {spec.name!r}: {refused}")
    return spec

"""The configurations of a client from -X and from the file of -F, as kcat and Java's --command-config have them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_scenarios.errors import ScenarioError
from broker_sim.errors import nearest
from sim_runtime.spelling import reason_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterator, Mapping

__all__ = ["connection_configs", "given_configs"]

_OF_FILES: Final = ("ssl.truststore.location", "ssl.keystore.location")
_JAAS: Final = "use sasl.jaas.config, which names a login module with username and password"
_OF_LIBRDKAFKA: Final = {
    "metadata.broker.list": "use bootstrap.servers",
    "sasl.mechanisms": "use sasl.mechanism",
    "sasl.password": _JAAS,
    "sasl.username": _JAAS,
    "ssl.ca.location": "use ssl.truststore.location with ssl.truststore.type=PEM",
    "ssl.ca.pem": "use ssl.truststore.certificates with ssl.truststore.type=PEM",
    "ssl.certificate.location": "use ssl.keystore.location with ssl.keystore.type=PEM: one file has key and chain",
    "ssl.certificate.pem": "use ssl.keystore.certificate.chain with ssl.keystore.type=PEM",
    "ssl.key.location": "use ssl.keystore.location with ssl.keystore.type=PEM: one file has key and chain",
    "ssl.key.pem": "use ssl.keystore.key with ssl.keystore.type=PEM",
}
"""Names that librdkafka has and Java's clients have not, and what to use."""


def given_configs(options: argparse.Namespace, keys: Collection[str]) -> dict[str, str]:
    """Return the configurations of -F and -X; -X is used where both have one.

    A file may be for several clients: those of its configurations that the client of `keys` does not have are left out.

    Raises:
        ScenarioError: the file cannot be read, a line has no value, or a name is no configuration of any client.
    """
    configs: dict[str, str] = {}
    if options.config_file is not None:
        configs = {key: value for key, value in _in_file(options.config_file) if key in keys}
    for pair in options.config:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ScenarioError(f"-X {pair!r} is not KEY=VALUE, as in -X security.protocol=SSL")
        key = key.strip()
        _check_name(f"-X {key}", key)
        configs[key] = value.strip()
    return configs


def connection_configs(path: Path | None) -> dict[str, str]:
    """Return the configurations of a file (-F) by which every client connects, without the addresses of brokers.

    The files of TLS that it names get absolute paths, since tasks of Spark have other working folders.

    Raises:
        ScenarioError: the file cannot be read, a line has no value, or a name is no configuration of any client.
    """
    if path is None:
        return {}
    from broker_scenarios.spark.connector.topic_offsets import client_configs

    found = client_configs(dict(_in_file(path)))
    found.pop("bootstrap.servers", None)
    return {name: str(Path(value).resolve()) if name in _OF_FILES else value for name, value in found.items()}


def _in_file(path: Path) -> Iterator[tuple[str, str]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"cannot read {path} (-F): {reason_of(error)}") from None
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith(("#", "!")):
            continue
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ScenarioError(f"{path}:{number}: {text!r} is not KEY=VALUE, as in security.protocol=SSL")
        key = key.strip()
        _check_name(f"{path}:{number}: {key}", key)
        yield key, value.strip()


def _check_name(where: str, key: str) -> None:
    known = _known_keys()
    if key in known:
        return
    hint = f": librdkafka's name: {_OF_LIBRDKAFKA[key]}" if key in _OF_LIBRDKAFKA else nearest(key, known)
    raise ScenarioError(f"{where}: unknown configuration{hint}")


def _known_keys() -> Mapping[str, object]:
    from broker_client.config.consumer_keys import ADMIN_KEYS, CONSUMER_KEYS, SHARE_CONSUMER_KEYS
    from broker_client.config_keys import KEYS

    return {**KEYS, **CONSUMER_KEYS, **SHARE_CONSUMER_KEYS, **ADMIN_KEYS}

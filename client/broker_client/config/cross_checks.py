"""Cross-field validation, in the order of Java.

Mirrors ProducerConfig.postProcessParsedConfig and CommonClientConfigs (KIP-601, KIP-679, KIP-939, KIP-580), then
KafkaProducer.configureDeliveryTimeout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.logger import Logger

from broker_client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["INT_MAX", "delivery_timeout_ms", "post_process"]

INT_MAX: Final = 2**31 - 1
MAX_IN_FLIGHT_FOR_IDEMPOTENCE: Final = 5
_IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
_INSTEAD: Final = "change it, or set enable.idempotence=false"
_log = Logger()


def post_process(values: dict[str, Any], given: Collection[str]) -> None:
    """Adjust parsed values that depend on others; `given` names the keys that the caller set.

    Raises:
        ConfigError: two values exclude each other.
    """
    _check_sasl(values)
    _warn_of_static_backoff(values, "retry.backoff.ms", "retry.backoff.max.ms")
    setup = "socket.connection.setup.timeout"
    _warn_of_static_backoff(values, f"{setup}.ms", f"{setup}.max.ms")
    if "reconnect.backoff.ms" in given and "reconnect.backoff.max.ms" not in given:
        values["reconnect.backoff.max.ms"] = values["reconnect.backoff.ms"]
    if values["acks"] == "all":
        values["acks"] = "-1"
    _check_idempotence(values, given)
    _check_transactions(values, given)
    if "client.id" not in given:
        values["client.id"] = f"producer-{values['transactional.id'] or 1}"


def delivery_timeout_ms(values: dict[str, Any], given: Collection[str]) -> int:
    """Return delivery.timeout.ms, or linger.ms + request.timeout.ms if those are longer than its default.

    Raises:
        ConfigError: a given delivery.timeout.ms is shorter.
    """
    delivery_ms: int = values["delivery.timeout.ms"]
    needed_ms: int = min(min(values["linger.ms"], INT_MAX) + values["request.timeout.ms"], INT_MAX)
    if delivery_ms >= needed_ms:
        return delivery_ms
    if "delivery.timeout.ms" in given:
        raise ConfigError(
            f"delivery.timeout.ms={delivery_ms} should be equal to or larger than "
            f"linger.ms + request.timeout.ms, {needed_ms}"
        )
    _log.warn("delivery.timeout.ms is set to {needed}, linger.ms + request.timeout.ms", needed=needed_ms)
    return needed_ms


def _check_sasl(values: dict[str, Any]) -> None:
    protocol = values["security.protocol"]
    if protocol.upper().startswith("SASL") and not values["sasl.mechanism"]:
        raise ConfigError(f"sasl.mechanism={values['sasl.mechanism']!r}: security.protocol={protocol} needs one")


def _warn_of_static_backoff(values: dict[str, Any], name: str, name_of_max: str) -> None:
    if values[name] > values[name_of_max]:
        text = "{name}={value} is above {name_of_max}={maximum}, which is used instead"
        _log.warn(text, name=name, value=values[name], name_of_max=name_of_max, maximum=values[name_of_max])


def _check_idempotence(values: dict[str, Any], given: Collection[str]) -> None:
    if not values["enable.idempotence"]:
        return
    conflicts = []
    if values["retries"] == 0:
        conflicts.append("retries=0: the idempotent producer needs retries to be non-zero")
    if values["acks"] != "-1":
        conflicts.append(f"acks={values['acks']}: the idempotent producer needs acks=all")
    if conflicts and "enable.idempotence" in given:
        raise ConfigError(f"{conflicts[0]}; {_INSTEAD}")
    if values[_IN_FLIGHT] > MAX_IN_FLIGHT_FOR_IDEMPOTENCE:
        # Unlike the other two, this one does not turn idempotence off by itself, since 4.0.
        needed = f"the idempotent producer takes at most {MAX_IN_FLIGHT_FOR_IDEMPOTENCE}"
        raise ConfigError(f"{_IN_FLIGHT}={values[_IN_FLIGHT]}: {needed}; {_INSTEAD}")
    if conflicts:
        _log.info("idempotence is disabled, because {conflict}", conflict=conflicts[0])
        values["enable.idempotence"] = False


def _check_transactions(values: dict[str, Any], given: Collection[str]) -> None:
    if "transactional.id" in given and not values["enable.idempotence"]:
        raise ConfigError(
            f"transactional.id={values['transactional.id']!r}: transactions need idempotence; "
            "remove the setting that disables it (enable.idempotence=false, acks, retries=0), or transactional.id"
        )
    if values["transaction.two.phase.commit.enable"] and "transaction.timeout.ms" in given:
        raise ConfigError(
            f"transaction.timeout.ms={values['transaction.timeout.ms']}: a two-phase transaction has no time-out; "
            "leave it out, or set transaction.two.phase.commit.enable=false"
        )

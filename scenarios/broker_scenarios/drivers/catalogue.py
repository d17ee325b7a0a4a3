"""Every driver by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.drivers.franz_go import FRANZ_GO
from broker_scenarios.drivers.java_tools import VERIFIABLE_CONSUMER, VERIFIABLE_PRODUCER
from broker_scenarios.drivers.python_drivers import AIOKAFKA, CONFLUENT_KAFKA, KAFKA_PYTHON

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.drivers.driver import Driver

__all__ = ["DRIVERS"]

DRIVERS: Final[Mapping[str, Driver]] = {
    driver.name: driver
    for driver in (CONFLUENT_KAFKA, AIOKAFKA, KAFKA_PYTHON, FRANZ_GO, VERIFIABLE_PRODUCER, VERIFIABLE_CONSUMER)
}

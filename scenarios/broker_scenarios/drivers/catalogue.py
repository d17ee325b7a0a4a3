"""Every driver by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.drivers.franz_go import FRANZ_GO
from broker_scenarios.drivers.python_drivers import AIOKAFKA, CONFLUENT_KAFKA, KAFKA_PYTHON
from broker_scenarios.drivers.verifiable_producer import VERIFIABLE_PRODUCER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.drivers.driver import Driver

__all__ = ["DRIVERS"]

DRIVERS: Final[Mapping[str, Driver]] = {
    driver.name: driver for driver in (CONFLUENT_KAFKA, AIOKAFKA, KAFKA_PYTHON, FRANZ_GO, VERIFIABLE_PRODUCER)
}

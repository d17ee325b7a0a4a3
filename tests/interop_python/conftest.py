"""The cluster under the Python clients: `broker-sim serve`, one for each module; in `make interop` a real Kafka too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.interop.kafka_release import ToolMissingError
from tests.interop.servers import BROKER_SIM, serving
from tests.interop_python.sample_records import PARTITIONS, TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTROL = pytest.param("kafka-4.3.1", marks=pytest.mark.interop)


@pytest.fixture(scope="module", params=[BROKER_SIM, CONTROL])
def bootstrap_servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """The servers, with the configurations `SETTINGS` of the module, if it has any."""
    settings = getattr(request.module, "SETTINGS", {})
    try:
        with serving(request.param, TOPIC, PARTITIONS, settings=settings) as servers:
            yield servers
    except ToolMissingError as missing:
        pytest.skip(str(missing))

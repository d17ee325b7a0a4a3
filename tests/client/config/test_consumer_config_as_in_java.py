"""The configurations of Consumer compared with Java's ConsumerConfig and KafkaConsumer 4.3.1 for the same settings.

`python -m tests.interop.java_consumer_config` records Java again; tests/interop checks that the record is still true.
"""

from __future__ import annotations

import json
from typing import Any

from broker_client.consumer_options import consumer_options
from broker_client.errors import ConfigError
from tests.client.config.consumer_config_cases import GROUND, RECORDED, Settings, all_settings


def is_accepted(settings: Settings) -> bool:
    try:
        consumer_options({**GROUND, **settings})
    except ConfigError:
        return False
    return True


def recorded() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(RECORDED.read_text())
    return found


def test_every_recorded_case_is_accepted_or_refused_as_in_java() -> None:
    different = [one for one in recorded() if is_accepted(one["settings"]) is not one["accepted"]]
    assert different == []


def test_the_record_has_every_case() -> None:
    assert [one["settings"] for one in recorded()] == all_settings()

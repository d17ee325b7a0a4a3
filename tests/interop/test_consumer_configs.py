"""Java's KafkaConsumer accepts and refuses the settings that were recorded."""

from __future__ import annotations

import json

from tests.client.config.consumer_config_cases import RECORDED, all_settings
from tests.interop.java_consumer_config import run_java


def test_java_accepts_what_was_recorded() -> None:
    assert run_java(all_settings()) == json.loads(RECORDED.read_text())

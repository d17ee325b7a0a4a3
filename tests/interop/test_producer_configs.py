"""The Java producer still says of every setting what was recorded, which `make test` compares our own with."""

from __future__ import annotations

import json

from tests.client.config.producer_config_cases import RECORDED, all_settings
from tests.interop.java_producer_config import as_text, ask_java


def test_java_says_what_was_recorded() -> None:
    told = json.loads(as_text(ask_java(all_settings())))
    recorded = json.loads(RECORDED.read_text())
    assert told["keys"] == recorded["keys"]
    assert told["ground"] == recorded["ground"]
    changed = [(now, then) for now, then in zip(told["outcomes"], recorded["outcomes"], strict=True) if now != then]
    assert changed == []

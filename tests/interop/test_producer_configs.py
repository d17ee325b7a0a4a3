"""The Java producer still gives every setting the recorded outcome, which `make test` compares our own with."""

from __future__ import annotations

import json

from tests.client.config.producer_config_cases import RECORDED, all_settings
from tests.interop.java_producer_config import as_text, run_java


def test_java_reports_what_was_recorded() -> None:
    reported = json.loads(as_text(run_java(all_settings())))
    recorded = json.loads(RECORDED.read_text())
    assert reported["keys"] == recorded["keys"]
    assert reported["ground"] == recorded["ground"]
    changed = [(now, then) for now, then in zip(reported["outcomes"], recorded["outcomes"], strict=True) if now != then]
    assert changed == []

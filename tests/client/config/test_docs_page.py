"""docs/reference/producer-configs.md is the current output of `make docs`."""

from __future__ import annotations

from pathlib import Path

from broker_client.config_keys import KEYS
from broker_client.producer_config import ProducerConfig

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "producer-configs.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == ProducerConfig.docs_page(), "run `make docs`"


def test_every_key_has_one_row() -> None:
    page = ProducerConfig.docs_page()
    assert [name for name in KEYS if page.count(f"| `{name}` |") != 1] == []

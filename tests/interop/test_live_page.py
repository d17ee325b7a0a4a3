"""The live page in headless Chromium: it shows a cluster, and its rows follow what happens there."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from broker_client import Producer
from broker_sim.http_control.guard import Guard
from tests.broker_sim.http_control.conftest import Control, serving
from tests.interop.kafka_release import ToolMissingError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOAD_MS = 4_000
RUN_SECONDS_MAX = 120


@pytest.fixture(scope="module")
def control() -> Iterator[Control]:
    with serving(Guard("127.0.0.1")) as found:
        yield found


def document(url: str, profile: Path) -> str:
    """Return the document after its scripts have run for LOAD_MS."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise ToolMissingError("no chromium in PATH: install chromium")
    command = [
        chromium,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={profile}",
        f"--virtual-time-budget={LOAD_MS}",
        "--dump-dom",
        url,
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=RUN_SECONDS_MAX)
    assert run.returncode == 0, run.stderr
    return run.stdout


def rows(page: str, table: str) -> list[list[str]]:
    """Return the texts of the cells of each row of a table."""
    body = re.search(rf'<tbody id="{table}".*?</tbody>', page, re.DOTALL)
    assert body is not None
    found = re.findall(r"<tr.*?</tr>", body[0], re.DOTALL)
    return [[re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)] for row in found]


def test_the_page_shows_brokers_partitions_rules_and_the_journal(control: Control, tmp_path: Path) -> None:
    path = control.new_cluster(brokers=2, topics=["orders:1:2"])
    with Producer(bootstrap_servers=control.get(path)["bootstrap_servers"], client_id="shop") as producer:
        producer.send("orders", b"v").result(30)
        control.post(f"{path}/rules", {"name": "never", "select": {"api": "Heartbeat"}, "act": "hold"})
        control.post(f"{path}/brokers/2/kill")
        control.get(f"{path}/wait/isr?topic=orders&brokers=1")
        page = document(control.url + "/", tmp_path)
    assert [row[:2] for row in rows(page, "brokers")] == [["1", "runs"], ["2", "down"]]
    assert [row[:3] for row in rows(page, "partitions")] == [["orders-0", "1", "1 of 1, 2"]]
    assert [row[:3] for row in rows(page, "rules")] == [["never", "hold", "0"]]
    assert "shop" in [row[0] for row in rows(page, "connections")]
    assert "BrokerKilled" in [row[2] for row in rows(page, "events")]

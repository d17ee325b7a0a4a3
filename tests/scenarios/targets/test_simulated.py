"""The listeners of a simulated cluster, as the clients of a run find them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from broker_scenarios.evidence import judged
from broker_scenarios.table import load_progress
from broker_scenarios.tcp_run import run_locally
from broker_sim.control.events import ConnectionOpened
from tests.scenarios.playing.runs import scenario_of
from tests.tidy.test_documents import blocks

if TYPE_CHECKING:
    from tests.certificate_authority import Certificates

DOCUMENT = Path(__file__).parents[3] / "docs" / "how-to" / "use-tls.md"
REST = """
title: TLS for the clients
topics: {orders: {partitions: 1, replication_factor: 1}}
expect: {verdict: valid, lost: 0}
"""
PLAIN = "  plain: {consumer: {}, script: [{assign: [orders]}, {poll: {records: 3}}, close]}\n"


def test_clients_connect_to_the_listener_of_their_protocol(tmp_path: Path, certificates: Certificates) -> None:
    (text,) = blocks(DOCUMENT, "yaml")
    text = text.replace("certificates/broker.pem", str(certificates.broker.file))
    text = text.replace("certificates/ca.pem", str(certificates.authority.file))
    scenario = scenario_of(tmp_path, REST + text + PLAIN)
    with load_progress(scenario.name, 0) as progress:
        evidence = run_locally(scenario, 1, progress)
    run = judged(evidence, engine=None)
    assert (run.judgement.misses, run.verdict.counts.acked) == ((), 3)
    opened = [each.listener for each in evidence.truth.journal if isinstance(each, ConnectionOpened)]
    assert set(opened) == {"PLAINTEXT", "SSL"}

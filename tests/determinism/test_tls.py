"""TLS on virtual time: OpenSSL draws its own random numbers, and still a seed has one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_scenarios.language.scenario import Scenario, read_document
from broker_scenarios.virtual_run import VirtualRun
from broker_sim.control.events import ConnectionClosed, ConnectionOpened
from sim_runtime.issued_certificates import CertificateFacts, issue
from sim_runtime.virtual_reactor import START_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

TRUST = {"security.protocol": "SSL", "ssl.truststore.type": "PEM"}


def scenario(folder: Path, *, valid_until_s: int) -> Scenario:
    """A client with a certificate; its second process connects in the sixteenth second."""
    facts = CertificateFacts(
        subject="CN=broker",
        hosts=("broker-1", "broker-2"),
        valid_from_s=-60,
        valid_until_s=valid_until_s,
        authority="authority",
    )
    made = issue("broker", facts, started_s=START_SECONDS)
    store = {"ssl.keystore.type": "PEM", "ssl.keystore.key": made.key, "ssl.keystore.certificate.chain": made.chain}
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": made.authority}
    client = {"security.protocol": "SSL", "max.block.ms": 3000, "linger.ms": 0, **store, **trust}
    first = [
        {"send": {"count": 30, "size_bytes": 3000}},
        "flush",
        {"wait": 15_000},
        {"send": {"count": 2, "wait": True}},
    ]
    second = ["close", "restart", {"send": {"wait": True}}, "close"]
    return read_document(
        {
            "title": "TLS on virtual time",
            "cluster": {
                "brokers": 2,
                "config": {"listeners": "PLAINTEXT://:0,SSL://:0", "ssl.client.auth": "required", **store, **trust},
            },
            "topics": {"orders": {"partitions": 4, "replication_factor": 2}},
            "clients": {"app": {"producer": client, "script": [*first, *second]}},
            "expect": {"verdict": "valid"},
        },
        folder / "tls.yaml",
        "tls",
    )


def run_of(scenario: Scenario, seed: int) -> VirtualRun:
    run = VirtualRun(scenario, seed)
    network = run.world.network
    for broker in ("broker-1", "broker-2"):
        for link in (network.link(broker, "app-0"), network.link("app-0", broker)):
            link.bandwidth_bytes_per_s = 200_000  # the size of each record has its effect on the time
            link.jitter_ms = 0.3
    run.run(None)
    return run


def test_a_seed_gives_the_same_run_twice(tmp_path: Path) -> None:
    given = scenario(tmp_path, valid_until_s=3600)
    first = run_of(given, 7)
    assert first.world.fingerprint() == run_of(given, 7).world.fingerprint()
    assert first.world.fingerprint() != run_of(given, 8).world.fingerprint()
    opened = [each for each in first.cluster.journal.events if isinstance(each, ConnectionOpened)]
    assert {each.listener for each in opened} == {"SSL"}


@pytest.mark.parametrize("valid_until_s", [10, 3600])
def test_certificates_are_judged_by_the_clock_of_the_world(tmp_path: Path, valid_until_s: int) -> None:
    run = run_of(scenario(tmp_path, valid_until_s=valid_until_s), 1)
    closed = [each for each in run.cluster.journal.events if isinstance(each, ConnectionClosed)]
    failed = [each.time_us for each in closed if "our certificate has expired" in each.reason]
    assert len(failed) == (1 if valid_until_s == 10 else 0)
    assert all(time_us > (START_SECONDS + 15) * 1_000_000 for time_us in failed)

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, Producer

from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-m", "broker_scenarios", "proxy"]
RULES = """
lose: {select: {api: Produce, nth: 1}, phase: before_response, act: disconnect}
slow: {act: {toxic: {type: latency, attributes: {latency: 5}}}}
"""
PATIENCE_S = 20


def test_a_client_stays_on_the_proxy_and_meets_its_rules(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES)
    with ThreadedCluster(brokers=2, topics=["orders:2:2"]) as cluster:
        upstream = cluster.bootstrap_servers.split(",")[0]
        command = [*COMMAND, "--upstream", upstream, "--rules", str(rules)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as proxy:
            assert proxy.stdout is not None
            name, _, servers = proxy.stdout.readline().strip().partition("=")
            assert name == "BOOTSTRAP_SERVERS"
            producer = Producer({"bootstrap.servers": servers})
            for number in range(100):
                producer.produce("orders", key=str(number), value=b"x")
            assert producer.flush(PATIENCE_S) == 0
            read = 0
            consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest"})
            consumer.subscribe(["orders"])
            while read < 100:
                found = consumer.poll(PATIENCE_S)
                assert found is not None
                read += found.error() is None
            consumer.close()
            proxy.send_signal(signal.SIGTERM)
            _, log = proxy.communicate(timeout=PATIENCE_S)
            assert proxy.returncode == 0
    assert "rule lose (disconnect) has fired 1 time" in log


def test_a_wrong_rule_is_refused_before_anything_starts(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("lose: {act: disconect}")
    command = [*COMMAND, "--upstream", "127.0.0.1:1", "--rules", str(rules)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 2
    assert f"--rules: {rules}:1:8: lose.act: " in done.stderr
    assert "did you mean 'disconnect'" in done.stderr


def test_a_cluster_that_does_not_accept_is_named() -> None:
    command = [*COMMAND, "--upstream", "127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 2
    assert "cannot connect" in done.stderr

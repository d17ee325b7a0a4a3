"""`broker-sim serve` from the shell: what it prints, what it serves, how it ends."""

from __future__ import annotations

import signal
import subprocess

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource

from tests.interop.served_cluster import STOP_SECONDS_MAX, command, environment, served_cluster

SECONDS_MAX = 30
# The line of the README.
ARGUMENTS = ["--brokers", "3", "--port", "0", "--topic", "orders:6:3", "-o", "min.insync.replicas=2"]


def test_the_documented_command_serves_the_topic_that_it_names() -> None:
    with served_cluster(*ARGUMENTS) as cluster:
        assert len(cluster.bootstrap_servers.split(",")) == 3
        metadata = AdminClient({"bootstrap.servers": cluster.bootstrap_servers}).list_topics(timeout=SECONDS_MAX)
    assert sorted(metadata.brokers) == [1, 2, 3]
    partitions = metadata.topics["orders"].partitions
    assert sorted(partitions) == list(range(6))
    assert all(sorted(partition.replicas) == sorted(partition.isrs) == [1, 2, 3] for partition in partitions.values())


def test_clients_can_describe_a_broker_option() -> None:
    resource = ConfigResource(ConfigResource.Type.TOPIC, "orders")
    with served_cluster(*ARGUMENTS) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        configs = admin.describe_configs([resource])[resource].result(SECONDS_MAX)
    assert configs["min.insync.replicas"].value == "2"


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM], ids=lambda ending: ending.name)
def test_a_signal_ends_it_with_status_0(ending: signal.Signals) -> None:
    with served_cluster(*ARGUMENTS) as cluster:
        assert cluster.stop(ending) == 0


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (["--topic", "orders:0:3"], "orders:0:3"),
        (["--topic", "orders:6:4"], "orders"),
        (["-o", "min.insync.replica=2"], "min.insync.replicas"),
        (["--brokers", "0"], "--brokers"),
    ],
)
def test_a_wrong_argument_ends_it_with_status_2_and_one_line_that_names_it(wrong: list[str], named: str) -> None:
    run = subprocess.run(
        command("serve", *ARGUMENTS[:4], *wrong),
        capture_output=True,
        text=True,
        check=False,
        timeout=STOP_SECONDS_MAX,
        env=environment(),
    )
    assert run.returncode == 2, run.stderr
    assert run.stdout == ""
    assert named in run.stderr
    assert "Traceback" not in run.stderr

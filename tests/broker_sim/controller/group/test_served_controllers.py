"""Several controllers from the command line and on TCP."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from broker_sim.threaded_cluster import ThreadedCluster

ROOT = Path(__file__).parents[4]
QUICK = {"controller.quorum.fetch.timeout.ms": "1000", "controller.quorum.election.timeout.ms": "200"}


def test_serve_takes_their_number() -> None:
    command = [sys.executable, "-m", "broker_sim", "--controllers", "3", "--brokers", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("BOOTSTRAP_SERVERS=127.0.0.1:")
        process.terminate()
        assert process.wait(30) == 0


def test_serve_refuses_a_number_that_cannot_be() -> None:
    command = [sys.executable, "-m", "broker_sim", "--controllers", "10"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ended.returncode == 2
    assert "'10' is not a whole number from 1 to 9" in ended.stderr


def test_a_cluster_on_real_time_goes_on_with_another_controller() -> None:
    with ThreadedCluster(controllers=3, config=QUICK) as cluster:
        assert cluster.kill_controller() == 3000
        assert cluster.active_controller is None
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([NewTopic("u", 1, 3)])["u"].result(30)
        assert cluster.active_controller in {3001, 3002}
        cluster.restart_controller(3000)
        cluster.isolate(3000)
        cluster.rejoin(3000)

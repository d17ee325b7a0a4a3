"""Toxiproxy's own client for Go drives the faults of connections, unmodified."""

from __future__ import annotations

import subprocess
from pathlib import Path

from broker_sim.http_control.guard import Guard
from tests.broker_sim.http_control.conftest import serving
from tests.interop.test_franz_go import go_tool

FOLDER = Path(__file__).parent / "toxiproxy"
RUN_SECONDS_MAX = 220
STEPS = """\
listens true enabled true
latency true true
updated true true
toxics 1 slow latency 600
disabled false
enabled true
limit_data false
reset true
reset_peer false
unknown Proxy: HTTP 404: there is no proxy 'nowhere'
"""


def test_each_step_has_its_effect() -> None:
    with serving(Guard("127.0.0.1")) as control:
        path = control.new_cluster(brokers=1)
        name, servers = path.rpartition("/")[2], control.get(path)["bootstrap_servers"]
        command = [go_tool(), "run", ".", control.url, servers]
        run = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False, timeout=RUN_SECONDS_MAX)
    assert run.returncode == 0, run.stdout + run.stderr
    proxies, _, steps = run.stdout.partition("\n")
    assert proxies == f"proxies [{name}.broker-1]"
    assert steps == STEPS

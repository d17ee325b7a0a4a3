"""docs/how-to/use-the-command-line.md, followed from its first command to its last."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from broker_sim.threaded_cluster import ThreadedCluster
from tests.interop.served_cluster import environment

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/how-to/use-the-command-line.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = f'broker-sim() {{ {sys.executable} -m broker_scenarios "$@"; }}'


def test_each_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    with ThreadedCluster(brokers=1, config={"group.initial.rebalance.delay.ms": "0"}) as cluster:
        given = {**environment(), "BOOTSTRAP_SERVERS": cluster.bootstrap_servers}
        for block in BLOCK.findall(PAGE.read_text()):
            for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                line, _, output = shown.partition("\n")
                run = subprocess.run(
                    ["bash", "-c", f"{COMMAND}\n{line}"],
                    env=given,
                    cwd=tmp_path,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    check=False,
                    timeout=60,
                )
                assert (run.returncode, run.stdout) == (0, output), line

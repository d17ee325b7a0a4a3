"""docs/how-to/use-sasl.md, as a reader follows it: a cluster with a SASL listener, and the client that is shown."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

from tests.interop.served_cluster import environment, served_cluster
from tests.tidy.test_documents import blocks, commands

DOCUMENT = Path(__file__).parents[2] / "docs" / "how-to" / "use-sasl.md"
SECONDS_MAX = 60


def test_the_listener_and_the_client_of_the_document_work() -> None:
    (serve,) = commands(DOCUMENT)
    program, _ = blocks(DOCUMENT, "python")  # the other one is a test, which tests/tidy/test_documents.py runs
    with served_cluster(*shlex.split(serve)[2:]) as cluster:
        assert cluster.process.stdout is not None
        name, _, servers = cluster.process.stdout.readline().strip().partition("=")
        assert name == "BOOTSTRAP_SERVERS_CLIENT"
        run = subprocess.run(
            [sys.executable, "-c", program.replace("localhost:9093", servers)],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
    assert (run.returncode, run.stdout) == (0, "0 records were not delivered\n"), run.stderr

"""docs/how-to/use-tls.md, as a reader follows it: certificates by openssl, a cluster, and the client that is shown."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

from tests.interop.served_cluster import command, environment, served_cluster
from tests.tidy.test_documents import blocks, commands

DOCUMENT = Path(__file__).parents[2] / "docs" / "how-to" / "use-tls.md"
SECONDS_MAX = 60


def test_the_certificates_the_listener_and_the_client_of_the_document_work(tmp_path: Path) -> None:
    lines = commands(DOCUMENT)
    assert [line.split()[0] for line in lines] == [
        "pip",
        "mkdir",
        "openssl",
        "openssl",
        "cat",
        "broker-sim",
        "printf",
        "broker-sim",
    ]
    serve, topics = (line for line in lines if line.startswith("broker-sim"))
    for line in lines:
        if line.startswith(("mkdir", "openssl", "cat", "printf")):
            made = subprocess.run(
                ["bash", "-ec", line], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
            )
            assert made.returncode == 0, f"{line}: {made.stderr}"
    arguments = shlex.split(serve.replace("certificates/", f"{tmp_path}/certificates/"))[2:]
    (program,) = blocks(DOCUMENT, "python")
    with served_cluster(*arguments) as cluster:
        assert cluster.process.stdout is not None
        name, _, servers = cluster.process.stdout.readline().strip().partition("=")
        assert name == "BOOTSTRAP_SERVERS_SSL"
        port = servers.rpartition(":")[2]
        run = subprocess.run(
            [sys.executable, "-c", program.replace("localhost:9093", f"localhost:{port}")],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        listed = subprocess.run(
            command(*shlex.split(topics.replace("localhost:9093", f"localhost:{port}"))[1:]),
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
    assert (listed.returncode, listed.stdout.splitlines()[1:]) == (0, ["orders  1           1"]), listed.stderr
    assert run.returncode == 0, run.stderr
    assert "RecordMetadata(topic='orders', partition=0, offset=0" in run.stdout


def test_serving_plaintext_imports_no_openssl() -> None:
    program = (
        "import sys; from broker_sim import serve; serve._reactor(); print([n for n in sys.modules if 'SSL' in n])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert run.stdout.strip() == "[]", run.stdout + run.stderr

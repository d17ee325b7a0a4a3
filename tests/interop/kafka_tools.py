"""A release's own command-line tools, run against any cluster."""

from __future__ import annotations

import subprocess

from tests.interop.prepared_release import java_command

TOOL_SECONDS_MAX = 60
MOVED_IN_4 = {
    "AclCommand": "kafka.admin",
    "ConsoleConsumer": "kafka.tools",
    "ConsumerGroupCommand": "kafka.admin",
    "ConsoleProducer": "kafka.tools",
    "BrokerApiVersionsCommand": "kafka.admin",
}
"""Tools that were in another package before 4.0."""


class Tools:
    """Runs the release's tools against a cluster."""

    def __init__(self, release: str, bootstrap_servers: str) -> None:
        self.release = release
        self.bootstrap_servers = bootstrap_servers
        self._java = java_command(release)

    def run(self, name: str, *arguments: str, status: int = 0, stdin: str | None = None) -> str:
        """Return the output of a tool; it must end with this exit status."""
        servers = ["--bootstrap-server", self.bootstrap_servers]
        # kafka-cluster wants its verb first, the others the servers.
        verb, rest = (arguments[:1], arguments[1:]) if name == "ClusterTool" else ((), arguments)
        return self.run_bare(name, *verb, *servers, *rest, status=status, stdin=stdin)

    def run_bare(self, name: str, *arguments: str, status: int = 0, stdin: str | None = None) -> str:
        """The same for a tool that takes the servers in its own way."""
        package = "org.apache.kafka.tools"
        if name == "ConfigCommand":
            package = "kafka.admin"
        elif self.release.startswith("3."):
            package = MOVED_IN_4.get(name, package)
        command = [*self._java, f"{package}.{name}", *arguments]
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=TOOL_SECONDS_MAX, check=False
        )
        assert done.returncode == status, f"{name} {arguments}: {done.stdout}{done.stderr}"
        return done.stdout

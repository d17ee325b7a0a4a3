"""The driver of Java's VerifiableProducer: starts it with the load of the run, and turns its lines into completions.

The program chooses its values itself: `PREFIX.NUMBER`. The prefix is the id of the load's first record, and so the
record with NUMBER is the one that the run sends as that many after the first.
"""

from __future__ import annotations

import threading
from typing import Any

from .java_tool import JavaTool, properties_file
from .lines import UNKNOWN, Run, serve

CODES = {"TimeoutException": 7, "RecordTooLargeException": 10}


class Client:
    """One VerifiableProducer; its process begins with the first record."""

    def __init__(self, run: Run, start: dict[str, Any]) -> None:
        self._run = run
        self._load = start["load"]
        self._servers = start["bootstrap_servers"]
        config = {"client.id": start["client_id"], **start["producer"]}
        self._acks = {"all": "-1"}.get(config.get("acks", "all"), config.get("acks", "-1"))
        self._config = properties_file(config)
        self._lock = threading.Lock()
        self._tool: JavaTool | None = None
        self._first = -1
        self._open: dict[int, dict[str, Any]] = {}
        self._ended: dict[int, dict[str, Any]] = {}

    def do_send(self, invocation: dict[str, Any]) -> None:
        value_id = invocation["mops"][0][2]
        if self._tool is None:
            self._begin(value_id)
        number = value_id - self._first
        with self._lock:
            result = self._ended.pop(number, None)
            if result is None:
                self._open[number] = invocation
                return
        self._complete(invocation, result)

    def _begin(self, first: int) -> None:
        self._first = first
        options = {
            "--bootstrap-server": self._servers,
            "--topic": self._load["topic"],
            "--max-messages": str(self._load["records"]),
            "--throughput": str(max(1, round(self._load["rate_per_s"]))),
            "--acks": self._acks,
            "--value-prefix": str(first),
            "--producer.config": self._config.name,
        }
        given = [part for option in options.items() for part in option]
        self._tool = JavaTool("VerifiableProducer", given, self._on_event)

    def _on_event(self, result: dict[str, Any]) -> None:
        if result["name"] not in {"producer_send_success", "producer_send_error"}:
            return
        number = int(result["value"].partition(".")[2])
        with self._lock:
            invocation = self._open.pop(number, None)
            if invocation is None:
                self._ended[number] = result
                return
        self._complete(invocation, result)

    def _complete(self, invocation: dict[str, Any], result: dict[str, Any]) -> None:
        if result["name"] == "producer_send_success":
            self._run.sent(invocation, result["partition"], result["offset"])
            return
        name = result["exception"].rpartition(".")[2]
        self._run.failed(invocation, f"{name}: {result['message']}", CODES.get(name, UNKNOWN))

    def do_close(self, invocation: dict[str, Any]) -> None:
        self.stop()
        self._run.complete(invocation)

    def stop(self) -> None:
        """End the process, which closes its producer first."""
        if self._tool is not None:
            self._tool.stop()


if __name__ == "__main__":
    serve("of the class path", Client)

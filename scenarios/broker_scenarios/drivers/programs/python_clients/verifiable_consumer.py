"""The driver of Java's VerifiableConsumer: a poll takes what the tool has printed meanwhile.

The tool reads values as texts. The id of a record begins with bytes that are no text once a client has sent 128
records: such a value is lost, and ends this process.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from typing import Any

from .java_tool import JavaTool, properties_file
from .lines import ID_BYTES, Run, polled, serve

OF_OPTIONS = {
    "group.id": "--group-id",
    "group.instance.id": "--group-instance-id",
    "group.protocol": "--group-protocol",
    "group.remote.assignor": "--group-remote-assignor",
    "session.timeout.ms": "--session-timeout",
    "auto.offset.reset": "--reset-policy",
    "partition.assignment.strategy": "--assignment-strategy",
}
"""The configurations that the options of the tool override."""
NO_TEXT = "\ufffd"


class Client:
    """One VerifiableConsumer; its process begins with the subscription."""

    def __init__(self, run: Run, start: dict[str, Any]) -> None:
        self._run = run
        self._servers = start["bootstrap_servers"]
        self._given: dict[str, str] = start["consumer"]
        self._config = properties_file({"client.id": start["client_id"], **self._given})
        self._changed = threading.Condition()
        self._records: deque[tuple[str, int, int, bytes | None]] = deque()
        self._assigned: dict[str, None] = {}
        self._moved: dict[str, None] = {}
        self._lost = ""
        self._tool: JavaTool | None = None

    def do_subscribe(self, invocation: dict[str, Any]) -> None:
        """Start the tool."""
        (topic,) = invocation["mops"][0][1]
        assert self._tool is None, "the tool subscribes once"
        options = {
            "--bootstrap-server": self._servers,
            "--topic": topic,
            "--consumer.config": self._config.name,
            **{option: self._given[name] for name, option in OF_OPTIONS.items() if name in self._given},
        }
        arguments = [part for option in options.items() for part in option]
        if self._given.get("enable.auto.commit") == "true":
            arguments.append("--enable-autocommit")
        self._tool = JavaTool("VerifiableConsumer", ["--verbose", *arguments], self._on_event)
        self._run.complete(invocation)

    def _on_event(self, event: dict[str, Any]) -> None:
        with self._changed:
            keys = dict.fromkeys(f"{each['topic']}-{each['partition']}" for each in event.get("partitions", ()))
            match event["name"]:
                case "partitions_assigned":
                    self._assigned |= keys
                    self._moved |= keys
                case "partitions_revoked":
                    self._assigned = {key: None for key in self._assigned if key not in keys}
                    self._moved |= keys
                case "record_data":
                    text = event["value"]
                    if text is not None and NO_TEXT in text[:ID_BYTES]:
                        self._lost = f"{event['topic']}-{event['partition']}@{event['offset']}"
                    value = None if text is None else text.encode()
                    self._records.append((event["topic"], event["partition"], event["offset"], value))
            self._changed.notify_all()

    def do_poll(self, invocation: dict[str, Any]) -> None:
        """Take the records that are there, or wait for some."""
        assert self._tool is not None, "the tool has subscribed to nothing"
        with self._changed:
            self._changed.wait_for(lambda: self._records or self._lost, invocation["timeout_ms"] / 1000)
            if self._lost:
                sys.exit(f"record {self._lost}: its value is no text, expected at most 128 records of a client")
            if self._tool.has_ended and not self._records:
                sys.exit("VerifiableConsumer has ended")
            count = min(len(self._records), invocation["records"])
            records = [self._records.popleft() for _ in range(count)]
            rebalanced, self._moved = list(self._moved), {}
            assigned = list(self._assigned)
        self._run.complete(invocation, mops=[polled(records)], rebalanced=rebalanced, assigned=assigned)

    def do_close(self, invocation: dict[str, Any]) -> None:
        """Close the consumer."""
        self.stop()
        self._run.complete(invocation)

    def stop(self) -> None:
        """End the process, which leaves its group first."""
        if self._tool is not None:
            self._tool.stop()


if __name__ == "__main__":
    serve("of the class path", Client)

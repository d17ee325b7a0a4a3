"""The process of one of Kafka's tools in Java, which writes its events as JSON lines."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LAST_BREATH_S = 10.0


class JavaTool:
    """A tool by its class name, started with its arguments; `on_event` gets each event, in a thread of its own."""

    def __init__(self, name: str, arguments: list[str], on_event: Callable[[dict[str, Any]], None]) -> None:
        java, classpath = sys.argv[1:3]
        self._on_event = on_event
        self._process = subprocess.Popen(
            [
                java,
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                classpath,
                f"org.apache.kafka.tools.{name}",
                *arguments,
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self._on_event(json.loads(line))

    @property
    def has_ended(self) -> bool:
        """True once the process has ended."""
        return self._process.poll() is not None

    def stop(self) -> None:
        """End the process, which closes its client first."""
        if not self.has_ended:
            self._process.terminate()
            try:
                self._process.wait(LAST_BREATH_S)
            except subprocess.TimeoutExpired:
                self._process.kill()


def properties_file(config: Mapping[str, str]) -> tempfile._TemporaryFileWrapper[str]:
    """A file with configurations, which goes when it is closed."""
    file = tempfile.NamedTemporaryFile("w", suffix=".properties")  # noqa: SIM115 - the caller closes it
    file.writelines(f"{name}={value}\n" for name, value in config.items())
    file.flush()
    return file

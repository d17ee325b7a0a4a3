"""Java clients of many releases in one JVM: programs in `java/` are compiled and run against a release's jars."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from tests.interop.kafka_release import clients_folder, java_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

JAVA = Path(__file__).parent / "java"
RUN_SECONDS_MAX = 150
END = "--- "
ERRORS_CHARACTERS_MAX = 4000
QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")


class OldClientsJvm:
    """The process, started at first need and again after a program that had to be ended with it."""

    def __init__(self, folder: Path) -> None:
        java_tool("javac")  # a runtime alone compiles nothing
        self._folder = folder
        self._errors = folder / "errors.log"
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, release: str, program: str, *arguments: str, when_ready: Callable[[], None] | None = None
    ) -> list[str]:
        """Return the output of `java/PROGRAM.java`; on "ready" call `when_ready` and send it a line."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        lines: list[str] = []
        deadline = threading.Timer(RUN_SECONDS_MAX, process.kill)
        deadline.start()
        try:
            self._send_line("\t".join([str(clients_folder(release)), str(JAVA / f"{program}.java"), *arguments]))
            for line in process.stdout:
                if line.startswith(END):
                    assert line == f"{END}ok\n", f"{program} of {release}: {line}\n{self._log_text()}"
                    return lines
                lines.append(line.strip())
                if lines[-1] == "ready" and when_ready is not None:
                    when_ready()
                    self._send_line("done")
        finally:
            deadline.cancel()
        self.stop()
        output = "\n".join(lines[-20:])
        raise AssertionError(
            f"{program} of {release} did not end in {RUN_SECONDS_MAX} s:\n{output}\n{self._log_text()}"
        )

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            with self._errors.open("a") as errors:
                self._process = subprocess.Popen(
                    [java_tool("java"), *QUICK_START, str(JAVA / "OldClients.java"), str(self._folder)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                )
        return self._process

    def _log_text(self) -> str:
        return self._errors.read_text()[-ERRORS_CHARACTERS_MAX:]

    def _send_line(self, line: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()


@contextlib.contextmanager
def old_clients_jvm() -> Iterator[OldClientsJvm]:
    """One for as long as the block lasts. Raise ToolMissingError without a JDK."""
    with tempfile.TemporaryDirectory(prefix="old-clients-") as folder:
        jvm = OldClientsJvm(Path(folder))
        try:
            yield jvm
        finally:
            jvm.stop()

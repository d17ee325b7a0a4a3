"""docs/how-to/control-over-http.md: each of its commands, in order, prints what the page shows."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.broker_sim.http_control.conftest import Control
from tests.interop.served_cluster import command, environment

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/how-to/control-over-http.md"
SECONDS_MAX = 30
VOLATILE = re.compile(r"127\.0\.0\.1:\d+|\b\d{16}\b|, nearest miss: [^\"]*|\"(sequence|last)\":\d+")


def steps() -> list[tuple[list[str], str]]:
    """Return the commands of the page, each with the text that follows it."""
    found: list[tuple[list[str], str]] = []
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        for part in block.split("$ ")[1:]:
            line, _, printed = part.partition("\n")
            found.append((shlex.split(line), printed.strip()))
    return found


def request_of(curl: list[str], base: str) -> tuple[str, str, bytes | None]:
    """Return the method, the path and the body of a curl command: a bare machine has no curl."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-s", action="store_true")
    parser.add_argument("-X", default="GET")
    parser.add_argument("-d")
    parser.add_argument("url")
    assert curl[0] == "curl"
    options = parser.parse_args(curl[1:])
    assert options.url.startswith(base)
    return options.X, options.url.removeprefix(base), None if options.d is None else options.d.encode()


def _without_value(found: re.Match[str]) -> str:
    if found[1]:
        return f'"{found[1]}":0'
    return "0" if found[0].isdigit() else ""


def stable(text: str) -> Any:
    """Return a response without the values that differ from run to run; the order of an ISR is one."""
    try:
        value = json.loads(VOLATILE.sub(_without_value, text))
    except ValueError:
        return text
    return {**value, "isr": sorted(value["isr"])} if isinstance(value, dict) and "isr" in value else value


@contextmanager
def running(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run `broker-sim serve`; it is killed if a step fails."""
    with subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, text=True, env=environment(), cwd=ROOT
    ) as served:
        try:
            yield served
            served.send_signal(signal.SIGTERM)
            assert served.wait(SECONDS_MAX) == 0
        finally:
            served.kill()


def test_each_command_prints_what_the_page_shows() -> None:
    (serve, _), *calls = steps()
    assert serve[:2] == ["broker-sim", "serve"]
    place = serve.index("--control") + 1
    with running([*serve[1:place], "127.0.0.1:0", *serve[place + 1 :]]) as served:
        assert served.stdout is not None
        lines = dict(served.stdout.readline().strip().split("=", 1) for _ in range(3))
        for arguments, printed in calls:
            method, path, data = request_of(arguments, f"http://{serve[place]}")
            response = Control(lines["CONTROL_URL"]).call(method, path, data=data)
            assert stable(response.text) == stable(printed), shlex.join(arguments)


def test_serve_refuses_a_control_address_without_a_token(tmp_path: Path) -> None:
    def served(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "broker_sim", "--brokers", "1", *options],
            capture_output=True,
            text=True,
            check=False,
            env=environment(),
            cwd=ROOT,
            timeout=SECONDS_MAX,
        )

    refused = served("--control", "0.0.0.0:0")
    assert (refused.returncode, "expected --control-token-file" in refused.stderr) == (2, True)
    (tmp_path / "token").write_text("short\n")
    refused = served("--control", "127.0.0.1:0", "--control-token-file", str(tmp_path / "token"))
    assert (refused.returncode, "5 characters" in refused.stderr) == (2, True)
    refused = served("--control", "127.0.0.1:0", "--control-token-file", str(tmp_path / "none"))
    assert (refused.returncode, "No such file" in refused.stderr) == (2, True)
    refused = served("--control", "8090")
    assert (refused.returncode, "expected HOST:PORT" in refused.stderr) == (2, True)

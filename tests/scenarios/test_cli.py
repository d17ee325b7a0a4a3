"""The command line as a whole: a wrong argument is reported in one line, with exit status 2."""

from __future__ import annotations

import argparse
import io
import os
import re
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.cli import main, make_parser
from broker_sim.errors import BrokerSimError
from tests.interop.served_cluster import command, environment

if TYPE_CHECKING:
    from collections.abc import Iterator

CATALOG = Path(__file__).parents[2] / "scenarios" / "catalog"


def test_the_version_is_that_of_the_package() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "broker_scenarios", "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == f"broker-sim {version('broker-sim')}\n"


@pytest.mark.parametrize("command", [[], ["run"], ["sweep"]])
def test_the_help_states_the_exit_status(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    assert "1  a run did not end as expected" in capsys.readouterr().out


def test_a_run_is_virtual_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(CATALOG / "leader-crash-any-time-acks-all.yaml"), "--records", "100"]) == 0
    assert "digest: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("missing", "options", "message"),
    [
        ("pyspark", ["--spark"], "--spark needs pyspark: pip install 'broker-sim[spark]'\n"),
        ("pyarrow", ["--spark"], "--spark needs pyarrow: pip install 'broker-sim[spark]'\n"),
        ("pyarrow", ["--history", "h"], "--history (Parquet files) needs pyarrow: pip install 'broker-sim[arrow]'\n"),
    ],
)
def test_a_missing_package_is_reported_with_the_option_that_needs_it(
    missing: str,
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in [name for name in sys.modules if name.startswith(("broker_scenarios.spark", "broker_scenarios.arrow"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.chdir(tmp_path)
    path = CATALOG / "leader-crash-any-time-acks-all.yaml"
    assert main(["run", str(path), "--records", "100", *options]) == 2
    assert capsys.readouterr() == ("", message)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "broker-sim: the following arguments are required: COMMAND"),
        (["server"], "invalid choice: 'server'; did you mean 'serve'? (see"),
        (["shrink", "x.yaml", "--finding", "lost-writ"], "broker-sim shrink: argument --finding: invalid choice"),
        (["serve", "--brokrs", "2"], "broker-sim serve: unrecognized arguments: --brokrs; did you mean '--brokers'?"),
        (["protocol"], "broker-sim protocol: the following arguments are required: SUBCOMMAND"),
        (["protocol", "show", "Produce", "--kind", "reply"], "broker-sim protocol show: argument --kind"),
        (["sweep", "x.yaml", "--seeds", "none"], "broker-sim sweep: argument --seeds"),
        (["sweep", "x.yaml", "--spark", "--master", "here"], "argument --master: 'here': expected local[N], spark://"),
        (["decode", "--version", "9", "--colour"], "--colour"),
        (["trace", "x.jsonl", "--list", "0"], "argument --list: '0': expected a whole number of at least 1"),
        (["trace", "x.yaml", "--seed", "-1"], "argument --seed: '-1': expected a whole number from 0 to 2^63 - 1"),
        (["trace", "x.yaml", "--broker", "one"], "argument --broker: 'one': expected a whole number"),
    ],
)
def test_a_bad_argument_is_one_line_and_exit_code_2(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (2, "")
    assert named in printed.err
    assert len(printed.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "results"], "--out results is for Spark: expected --spark beside it\n"),
        (["--master", "yarn"], "--master yarn is for Spark: expected --spark beside it\n"),
        (
            ["--spark", "--processes", "2"],
            "--processes is for a sweep without --spark: expected --master local[N]\n",
        ),
    ],
)
def test_options_of_the_other_engine_are_refused(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", str(CATALOG / "lost-ack-duplicate.yaml"), *options]) == 2
    assert capsys.readouterr() == ("", message)


@pytest.mark.parametrize(
    ("line", "completions"),
    [("broker-sim gro", "groups "), ("broker-sim topics create --rep", "--replication-factor ")],
)
def test_the_shell_completes_commands_and_options(line: str, completions: str, tmp_path: Path) -> None:
    result = tmp_path / "completions"
    variables = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(result),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    subprocess.run(command(), env={**environment(), **variables}, check=True, timeout=30)
    assert result.read_text() == completions


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["run", "--report", "/dev/full"], "cannot write /dev/full (--report): No space left on device\n"),
        (["run", "--history", "/dev/null"], "cannot make /dev/null (--history): File exists\n"),
        (["trace", "--html", "/dev/full"], "cannot write /dev/full (--html): No space left on device\n"),
        (["trace", "--svg", "/dev/full"], "cannot write /dev/full (--svg): No space left on device\n"),
    ],
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_line(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, *others = options
    scenario = str(CATALOG / "leader-crash-any-time-acks-all.yaml")
    assert main([command, scenario, "--records", "20", *others]) == 2
    assert capsys.readouterr().err.endswith(message)


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("run", ("report", "json", "junit", "markdown")),
        ("sweep", ("coverage", "json", "junit", "markdown")),
        ("explore", ("schedule",)),
        ("trace", ("html", "svg")),
        ("shrink", ("output",)),
    ],
)
def test_an_output_that_cannot_be_opened_is_refused_before_the_work(
    command: str, options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    for option in options:
        for path, reason in ((tmp_path, "Is a directory"), (tmp_path / "file" / "in" / "out", "Not a directory")):
            assert main([command, "missing.yaml", f"--{option}", str(path)]) == 2
            assert capsys.readouterr().err == f"cannot write {path} (--{option}): {reason}\n"
    new = tmp_path / "new.html"
    assert main(["run", "missing.yaml", "--report", str(new)]) == 2
    assert not new.exists()


@pytest.mark.parametrize(("command", "options"), [("run", ("history", "trace")), ("sweep", ("shrink", "mutate"))])
def test_a_folder_that_cannot_be_made_is_refused_before_the_work(
    command: str, options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    for option in options:
        path = tmp_path / "file" / "in"
        assert main([command, "missing.yaml", f"--{option}", str(path)]) == 2
        assert capsys.readouterr().err == f"cannot make {path} (--{option}): Not a directory\n"
        assert main([command, "missing.yaml", f"--{option}", str(tmp_path / "new")]) == 2
        assert "missing.yaml" in capsys.readouterr().err
        assert not (tmp_path / "new").exists()


def test_every_option_for_results_is_tried_before_the_work() -> None:
    written = re.compile(r"(write|append|report|keep|shrink)\b.* to this (file|folder)|in this folder")
    for parser in parsers(make_parser()):
        if parser.prog == "broker-sim serve":
            continue  # it opens its journal when it starts
        for action in parser._actions:
            if action.type is Path and written.search(action.help or ""):
                pytest.fail(f"{parser.prog} {action.option_strings}: expected OutputFile or OutputFolder")


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from parsers(each)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_cannot_be_written_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "broker_scenarios", "protocol", "list"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (2, "standard output: No space left on device\n")


class Interrupting(io.BytesIO):
    """An input during whose reading a signal arrives."""

    def __init__(self, number: signal.Signals, error: type[Exception] | None) -> None:
        super().__init__()
        self._number = number
        self._error = error

    def read(self, _: int | None = None, /) -> bytes:
        try:
            signal.raise_signal(self._number)
        finally:
            if self._error is not None:
                raise self._error


@pytest.mark.parametrize("error", [None, BrokerSimError, ConnectionResetError])
@pytest.mark.parametrize(
    ("number", "word", "status"), [(signal.SIGINT, "interrupted", 130), (signal.SIGTERM, "terminated", 143)]
)
def test_a_signal_is_one_line_and_a_status_also_when_code_fails_on_its_way_out(
    number: signal.Signals,
    word: str,
    status: int,
    error: type[Exception] | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Interrupting(number, error)))
    assert main(["decode", "-"]) == status
    assert capsys.readouterr().err == f"{word}\n"


@pytest.mark.parametrize(("command", "status"), [(["protocol", "list"], 0), (["catalog", "list"], 1)])
def test_a_command_whose_reader_has_gone_fails_unless_it_has_its_status(command: list[str], status: int) -> None:
    """The first list fits into the buffer of stdout, and is written when the command has ended; the second does not."""
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(
        [sys.executable, "-m", "broker_scenarios", *command],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (status, b"")

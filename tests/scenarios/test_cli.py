"""The command line as a whole: what is wrong with arguments is said in one line, with exit code 2."""

from __future__ import annotations

import pytest

from broker_scenarios.cli import main


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "broker-sim: the following arguments are required: COMMAND"),
        (["server"], "invalid choice: 'server'"),
        (["protocol"], "broker-sim protocol: the following arguments are required: SUBCOMMAND"),
        (["protocol", "show", "Produce", "--kind", "reply"], "broker-sim protocol show: argument --kind"),
        (["sweep", "x.yaml", "--seeds", "none"], "broker-sim sweep: argument --seeds"),
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

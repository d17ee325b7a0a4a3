"""The command line `broker-sim`: serve a cluster, run scenarios, sweep seeds, look into the protocol.

Exit codes: 0 when each scenario ended as its file expects, 1 when one did not, 2 for a bad input. Results go to stdout,
everything else to stderr. Each command imports what it needs when it is called, so that `serve` starts fast.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from broker_scenarios.commands.argument_types import positive, seed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_scenarios.scenario import Scenario

__all__ = ["main"]

EXIT_AS_EXPECTED: Final = 0
EXIT_NOT_AS_EXPECTED: Final = 1
EXIT_BAD_INPUT: Final = 2

_EXTRAS: Final = {"pyarrow": "arrow", "pyspark": "spark", "pandas": "spark"}
"""Packages that some commands need, and the extra that brings each."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; answer its exit code."""
    from broker_scenarios.errors import ScenarioError
    from broker_sim.errors import BrokerSimError
    from protocol_specs.errors import ProtocolError
    from sim_runtime.errors import SimRuntimeError

    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except (ScenarioError, BrokerSimError, ProtocolError, SimRuntimeError) as error:
        print(error, file=sys.stderr)
        return EXIT_BAD_INPUT
    except ModuleNotFoundError as missing:
        extra = _EXTRAS.get((missing.name or "").partition(".")[0])
        if extra is None:
            raise
        print(f"this needs {missing.name}: pip install broker-sim[{extra}]", file=sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return code


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with an argument, and of which command; subcommands are of this class too."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(EXIT_BAD_INPUT)


def _parser() -> argparse.ArgumentParser:
    from broker_scenarios.commands import configs, decode, encode, protocol, trace
    from broker_sim import serve

    parser: argparse.ArgumentParser = _Parser(
        prog="broker-sim", description="A Kafka broker simulator, producer test harness and protocol simulator."
    )
    commands: argparse._SubParsersAction[argparse.ArgumentParser] = parser.add_subparsers(
        required=True, metavar="COMMAND"
    )
    serving = commands.add_parser("serve", help="start a cluster for any Kafka client", description=serve.__doc__)
    serve.add_arguments(serving)
    serving.set_defaults(run=serve.run)
    _add_run(commands.add_parser("run", help="run scenarios and judge every record"))
    _add_sweep(commands.add_parser("sweep", help="run one scenario on virtual time, seed after seed"))
    trace.add(commands)
    protocol.add(commands)
    decode.add(commands)
    encode.add(commands)
    configs.add(commands)
    schema = commands.add_parser("schema", help="print the JSON schema of scenario files")
    schema.set_defaults(run=_schema)
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenarios", nargs="+", type=Path, metavar="FILE", help="scenario files (YAML)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--virtual", action="store_true", help="on virtual time, in one process, without Spark")
    where.add_argument("--spark", action="store_true", help="on TCP, with the load from Spark (the default)")
    where.add_argument("--local", action="store_true", help="on TCP, with producers in threads, without Spark")
    parser.add_argument("--seed", type=seed, help="the seed (the file's when not given)")
    parser.add_argument("--records", type=positive, help="send this many records instead of the file's")
    parser.add_argument("--report", type=Path, help="write the report to this HTML file")
    parser.add_argument("--history", type=Path, help="keep the histories (Parquet) in this folder")
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FOLDER",
        help="keep what producers and brokers tell there, for `broker-sim trace`",
    )
    parser.set_defaults(run=_run)


def _add_sweep(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", type=Path, metavar="FILE", help="a scenario file (YAML)")
    parser.add_argument("--seeds", type=positive, default=100, help="how many seeds (100)")
    parser.add_argument("--first-seed", type=seed, default=0, help="the first seed (0)")
    parser.add_argument("--records", type=positive, help="send this many records a seed instead of the file's")
    parser.set_defaults(run=_sweep)


def _run(options: argparse.Namespace) -> int:
    from broker_scenarios.runs import Where, run_scenarios

    where = Where.VIRTUAL if options.virtual else Where.LOCAL if options.local else Where.SPARK
    scenarios = [_scenario(path, options.records) for path in options.scenarios]
    return run_scenarios(
        scenarios,
        where=where,
        seed=options.seed,
        report=options.report,
        history_folder=options.history,
        trace_folder=options.trace,
    )


def _sweep(options: argparse.Namespace) -> int:
    from broker_scenarios.sweep import sweep

    return sweep(_scenario(options.scenario, options.records), seeds=options.seeds, first_seed=options.first_seed)


def _scenario(path: Path, records: int | None) -> Scenario:
    from broker_scenarios.scenario import load_scenario

    scenario = load_scenario(path)
    return scenario if records is None else scenario.with_records(records)


def _schema(options: argparse.Namespace) -> int:  # noqa: ARG001 - a command's form
    from broker_scenarios.schema import json_schema

    print(json.dumps(json_schema(), indent=1))
    return EXIT_AS_EXPECTED


if __name__ == "__main__":
    sys.exit(main())

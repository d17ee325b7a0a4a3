"""The command line `broker-sim`: serve a cluster, run scenarios, sweep seeds, show the protocol.

Results go to stdout, everything else to stderr. Each command imports its modules when it is called, so that `serve`
starts fast.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import sys
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from broker_scenarios.commands import defect_option, real_cluster, result_options, spark_options
from broker_scenarios.termination import Terminated, interruption_behind, termination_raised
from broker_sim.argument_types import address, positive, seed
from sim_runtime.spelling import reason_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_scenarios.runs import Where

__all__ = ["main", "make_parser"]

EXIT_AS_EXPECTED: Final = 0
EXIT_NOT_AS_EXPECTED: Final = 1
EXIT_BAD_INPUT: Final = 2

_COMPLETION_VARIABLE: Final = "_ARGCOMPLETE"
"""Set by the completion function of the shell."""
EXIT_INTERRUPTED: Final = 130
EXIT_TERMINATED: Final = 143
EXIT_CODES: Final = """exit status:
  0  every run ended as its scenario file expects
  1  a run did not end as expected, or bytes are broken
  2  an argument, a file or the environment cannot be used; one line on stderr names it
  130  interrupted (SIGINT)
  143  terminated (SIGTERM)
"""

_OPTIONAL_PACKAGES: Final = ("pandas", "pyarrow", "pyspark")
"""Packages that only some options need."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    with termination_raised():
        try:
            return _main(arguments)
        except Terminated:
            _end_spark()
            print("terminated", file=sys.stderr)
            return EXIT_TERMINATED
        except KeyboardInterrupt:
            _end_spark()
            print("interrupted", file=sys.stderr)
            return EXIT_INTERRUPTED


def _run_command(options: argparse.Namespace) -> int:
    """Run a command. An error that is raised while an interruption is handled is the interruption."""
    try:
        result_options.check_outputs(options)
        code: int = options.run(options)
    except Exception as error:
        interruption = interruption_behind(error)
        if interruption is None:
            raise
        raise interruption from None
    return code


def _end_spark() -> None:
    """End the JVM of an interrupted command, if it has one, without the errors of its tasks."""
    session = sys.modules.get("broker_scenarios.spark.session")
    if session is not None:
        session.end_session()


def _main(arguments: Sequence[str] | None) -> int:
    from broker_scenarios.commands.result_lines import abandon_stdout
    from broker_scenarios.errors import ScenarioError
    from broker_sim.errors import BrokerSimError
    from protocol_specs.errors import ProtocolError
    from sim_runtime.errors import SimRuntimeError

    parser = make_parser()
    if _COMPLETION_VARIABLE in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)  # prints the completions and exits
    options = parser.parse_args(arguments)
    code: int = EXIT_NOT_AS_EXPECTED  # until the command has returned another
    try:
        code = _run_command(options)
        sys.stdout.flush()
    except (ScenarioError, BrokerSimError, ProtocolError, SimRuntimeError) as error:
        print(error, file=sys.stderr)
        return EXIT_BAD_INPUT
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in _OPTIONAL_PACKAGES:
            raise
        on_spark = getattr(options, "spark", False)
        table = "a history or logs as a table" if hasattr(options, "promises") else "--history (Parquet files)"
        option, extra = ("--spark", "spark") if on_spark else (table, "arrow")
        print(f"{option} needs {package}: pip install 'broker-sim[{extra}]'", file=sys.stderr)
        return EXIT_BAD_INPUT
    except BrokenPipeError:
        abandon_stdout()
        return code
    except OSError as error:
        if error.filename is None:
            if error.errno != errno.ENOSPC:
                raise
            abandon_stdout()
        print(f"{error.filename or 'standard output'}: {reason_of(error)}", file=sys.stderr)
        return EXIT_BAD_INPUT
    return code


class _Parser(argparse.ArgumentParser):
    """Reports a wrong argument in one line with the name of its command. Subcommands are of this class too."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse what is left over with the name of this command, to which it was given, and the nearest option."""
        options, left = super().parse_known_args(args, namespace)
        if left:
            from broker_sim.errors import nearest

            word, *_ = left[0].split("=")
            known = [text for action in self._actions for text in action.option_strings]
            self.error(f"unrecognized arguments: {' '.join(left)}{nearest(word, known)}")
        return options, left

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a word that is no choice with the nearest one, or with all."""
        if action.choices is not None and value not in action.choices:
            from broker_sim.errors import nearest

            hint = nearest(str(value), map(str, action.choices))
            if hint:
                raise argparse.ArgumentError(action, f"invalid choice: {value!r}{hint}")
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(EXIT_BAD_INPUT)


class _ShowVersion(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002 - the signature of an action
        values: object,  # noqa: ARG002
        option_string: str | None = None,  # noqa: ARG002
    ) -> NoReturn:
        from broker_sim import __version__

        print(f"broker-sim {__version__}")
        parser.exit()


@cache
def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets `run`: a function of the options that returns the exit status.

    It is made once per process: that takes as long as a short command.
    """
    from broker_scenarios.commands import (
        catalog,
        check,
        configs,
        consume,
        decode,
        determinism,
        drivers,
        encode,
        explore,
        groups,
        produce,
        protocol,
        records,
        serve_command,
        shrink,
        sweep,
        topics,
        trace,
    )
    from broker_sim import serve
    from broker_sim.wire_proxy import command as proxy

    parser: argparse.ArgumentParser = _Parser(
        prog="broker-sim",
        description="A Kafka broker simulator, producer test harness and protocol simulator.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="show program's version number and exit")
    commands: argparse._SubParsersAction[argparse.ArgumentParser] = parser.add_subparsers(
        required=True, metavar="COMMAND"
    )
    serving = commands.add_parser("serve", help="start a cluster for any Kafka client", description=serve.__doc__)
    serve.add_arguments(serving)
    serve_command.add_arguments(serving)
    proxying = commands.add_parser(
        "proxy", help="put a proxy with fault rules before a cluster", description=proxy.__doc__
    )
    proxy.add_arguments(proxying)
    proxying.set_defaults(run=proxy.run)
    _add_run(_add_command(commands, "run", "run scenarios and judge every record"))
    sweep.add_arguments(_add_command(commands, "sweep", "run one scenario on virtual time, seed after seed"))
    explore.add(commands)
    shrink.add(commands)
    determinism.add(commands)
    for each in (topics, produce, consume, groups, records):
        each.add(commands)
    catalog.add(commands)
    drivers.add(commands)
    check.add(commands)
    trace.add(commands)
    protocol.add(commands)
    decode.add(commands)
    encode.add(commands)
    configs.add(commands)
    schema = commands.add_parser("schema", help="print the JSON schema of scenario files")
    schema.set_defaults(run=_schema)
    return parser


def _add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[:1].upper()}{summary[1:]}.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenarios", nargs="+", type=Path, metavar="FILE", help="scenario files (YAML)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--virtual", action="store_true", help="on virtual time, in one process (the default)")
    where.add_argument("--local", action="store_true", help="on TCP, with producers in threads of this process")
    real_cluster.add_targets(where)
    where.add_argument("--spark", action="store_true", help="on TCP, with producers in Spark tasks (needs Java 17)")
    real_cluster.add_control(parser)
    parser.add_argument(
        "--bootstrap",
        type=address,
        metavar="HOST:PORT",
        help="with --spark: on this Kafka, without a proxy; the topics of the file are created and deleted",
    )
    parser.add_argument(
        "-F",
        "--command-config",
        type=Path,
        metavar="FILE",
        help="with --bootstrap: a file with one KEY=VALUE per line, of which clients take what is about TLS and SASL",
    )
    parser.add_argument(
        "--load",
        metavar="SOURCE",
        help="with --spark: send the records of a Parquet file or folder, or of kafka://HOST:PORT/TOPIC",
    )
    parser.add_argument("--seed", type=seed, help="the seed (default: the seed of the file)")
    parser.add_argument("--records", type=positive, help="send this many records instead of the file's")
    defect_option.add(parser)
    parser.add_argument(
        "--decisions", type=Path, metavar="FILE", help="replay the draws in this JSON file, in place of the seed's"
    )
    parser.add_argument(
        "--report", action=result_options.OutputFile, metavar="FILE", help="write the report to this HTML file"
    )
    result_options.add(parser)
    folder = partial(parser.add_argument, action=result_options.OutputFolder, metavar="FOLDER")
    folder("--history", help="write the histories (Parquet) to this folder")
    folder("--trace", help="write the events of producers and brokers to this folder, for `broker-sim trace`")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from broker_scenarios.errors import ScenarioError
    from broker_scenarios.language.scenario import load_scenario
    from broker_scenarios.runs import RunOptions, run_scenarios
    from broker_scenarios.workloads.load_source import load_source

    spark_options.refuse_without_spark(options, "bootstrap", "load")
    if options.load is not None:
        load_source(options.load)  # refused before Spark starts
    if options.command_config is not None and options.bootstrap is None:
        raise ScenarioError(
            f"--command-config {options.command_config} is for the clients of a Kafka: expected --bootstrap beside it"
        )
    if options.load is not None and options.records is not None:
        raise ScenarioError(f"--records {options.records}: --load {options.load} has a number of records of its own")
    return run_scenarios(
        [load_scenario(path, defect=options.defect) for path in options.scenarios],
        RunOptions(
            where=_where(options),
            attach=options.attach,
            control=real_cluster.control_of(options),
            kafka=options.kafka,
            load=options.load,
            bootstrap=options.bootstrap,
            command_config=options.command_config,
            seed=options.seed,
            records=options.records,
            decisions=options.decisions,
            report=options.report,
            files=result_options.files_of(options),
            history_folder=options.history,
            trace_folder=options.trace,
        ),
    )


def _where(options: argparse.Namespace) -> Where:
    from broker_scenarios.runs import Where

    if options.spark:
        return Where.SPARK
    if options.local:
        return Where.LOCAL
    if options.kafka is not None:
        return Where.KAFKA
    return Where.VIRTUAL if options.attach is None else Where.ATTACHED


def _schema(options: argparse.Namespace) -> int:  # noqa: ARG001 - a command's form
    from broker_scenarios.language.schema import json_schema

    print(json.dumps(json_schema(), indent=1))
    return EXIT_AS_EXPECTED


if __name__ == "__main__":
    sys.exit(main())

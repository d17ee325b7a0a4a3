"""The options that name files and folders for results; `add` declares those that most commands have."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim_runtime.spelling import reason_of

if TYPE_CHECKING:
    from broker_scenarios.result_files import ResultFiles

__all__ = ["OutputFile", "OutputFolder", "add", "check_outputs", "files_of"]


class OutputFile(argparse.Action):
    """The option of a file for results. `check_outputs` tries it before the work whose results it is to have."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - the form of an action
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        """Set the path, and note the option."""
        path = Path(values)
        setattr(namespace, self.dest, path)
        namespace.outputs = {**_outputs(namespace), self.option_strings[-1]: (self, path)}

    def try_path(self, path: Path, option: str) -> None:
        """Open the file, and remove it again if it is new."""
        from broker_scenarios.result_files import write_text

        is_new = not path.exists()
        if is_new or path.is_file() or path.is_dir():  # the reader of a pipe would see its end
            write_text(path, "", option, append=True)
        if is_new:
            path.unlink()


class OutputFolder(OutputFile):
    """The option of a folder for results."""

    def try_path(self, path: Path, option: str) -> None:
        """Make the folder, and remove it again if it is new."""
        from broker_scenarios.errors import ScenarioError

        is_new = not path.exists()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ScenarioError(f"cannot make {path} ({option}): {reason_of(error)}") from error
        if is_new:
            path.rmdir()


def _outputs(options: argparse.Namespace) -> dict[str, tuple[OutputFile, Path]]:
    found: dict[str, tuple[OutputFile, Path]] = getattr(options, "outputs", {})
    return found


def check_outputs(options: argparse.Namespace) -> None:
    """Refuse a file that cannot be written and a folder that cannot be made, before the work and not after it.

    Raises:
        ScenarioError: there is one.
    """
    for option, (output, path) in _outputs(options).items():
        output.try_path(path, option)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare `--json`, `--junit` and `--markdown`."""
    parser.add_argument(
        "--json", action=OutputFile, metavar="FILE", help="write the results to this file, one JSON line per run"
    )
    parser.add_argument(
        "--junit", action=OutputFile, metavar="FILE", help="write the results to this file as JUnit XML"
    )
    parser.add_argument(
        "--markdown",
        action=OutputFile,
        metavar="FILE",
        help="append a summary to this file, as for $GITHUB_STEP_SUMMARY",
    )


def files_of(options: argparse.Namespace) -> ResultFiles:
    """Return the requested files."""
    from broker_scenarios.result_files import ResultFiles

    return ResultFiles(json=options.json, junit=options.junit, markdown=options.markdown)

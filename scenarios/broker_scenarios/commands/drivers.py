"""`broker-sim drivers`: list the foreign clients that can drive a scenario, and install one in a version."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

__all__ = ["add"]


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "drivers",
        help="list and install the foreign clients that can drive a scenario",
        description="List the foreign clients that can drive a scenario, and install one in a version of its own.",
    )
    actions: argparse._SubParsersAction[argparse.ArgumentParser] = parser.add_subparsers(
        required=True, metavar="ACTION"
    )
    listing = actions.add_parser("list", help="list the drivers, what is installed, and the steps that they take")
    listing.set_defaults(run=_list)
    installing = actions.add_parser("install", help="install a driver in a version, beside all others")
    installing.add_argument("name", metavar="NAME", help="the driver")
    installing.add_argument("version", metavar="VERSION", help="its version")
    installing.set_defaults(run=_install)


def _list(options: argparse.Namespace) -> int:  # noqa: ARG001 - a command's form
    from broker_scenarios.commands.text_columns import columns
    from broker_scenarios.drivers.catalogue import DRIVERS
    from broker_scenarios.drivers.installed import installed_versions

    rows = [("driver", "installed", "steps")]
    rows += [
        (driver.name, ", ".join(installed_versions(driver)) or "no", " ".join(sorted(driver.steps)))
        for driver in DRIVERS.values()
    ]
    print("\n".join(columns(rows)))
    return 0


def _install(options: argparse.Namespace) -> int:
    from broker_scenarios.drivers.catalogue import DRIVERS
    from broker_scenarios.drivers.driver import DriverChoice
    from broker_scenarios.drivers.installed import install
    from broker_scenarios.errors import ScenarioError
    from broker_sim.errors import nearest

    if options.name not in DRIVERS:
        raise ScenarioError(f"there is no driver {options.name!r}{nearest(options.name, DRIVERS)}")
    print(install(DriverChoice(DRIVERS[options.name], options.version)))
    return 0

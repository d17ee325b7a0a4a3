"""`broker-sim protocol diff`: the differences between two versions of a message, in one or in several steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from protocol_specs.lookup import Subject
    from protocol_specs.message import Message
    from protocol_specs.version_changes import VersionChange


def add(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser("diff", help="show what changes between two versions of a message")
    parser.add_argument("name", metavar="NAME", help="an API by name or key, one side of it, or another schema")
    parser.add_argument("first", nargs="?", metavar="FROM", help="a version (the oldest when not given)")
    parser.add_argument("second", nargs="?", metavar="TO", help="a version (the newest when not given)")
    parser.add_argument("--kind", choices=("request", "response"), help="one side of an API alone")
    parser.add_argument(
        "--steps", action="store_true", help="version by version; so it is too when no version is given"
    )
    parser.add_argument("--json", action="store_true", help="JSON for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the differences; raises UnknownApi and UnsupportedVersion."""
    import json

    from broker_scenarios.commands.protocol_show import sided
    from broker_scenarios.commands.result_lines import print_lines
    from protocol_specs import lookup

    subject = sided(lookup.find(options.name), options.kind)
    oldest = min(cls.VERSIONS.lowest for cls in subject.declarations)
    newest = max(cls.VERSIONS.highest for cls in subject.declarations)
    first = oldest if options.first is None else lookup.check_version(subject, options.first)
    second = newest if options.second is None else lookup.check_version(subject, options.second)
    walk = _walk(first, second) if options.steps or options.first is None else [(first, second)]
    if options.json:
        print_lines([json.dumps([_json(subject, *step) for step in walk], indent=1)])
    else:
        print_lines(_lines(subject, walk))
    return 0


def _walk(first: int, second: int) -> list[tuple[int, int]]:
    """The steps from one version to another: [(8, 9), (9, 10)]."""
    way = 1 if first <= second else -1
    return [(version, version + way) for version in range(first, second, way)] or [(first, second)]


def _lines(subject: Subject, walk: list[tuple[int, int]]) -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns, paragraph
    from protocol_specs.version_changes import changes
    from protocol_specs.version_notes import version_notes

    yield from paragraph(subject.summary)
    for first, second in walk:
        one_step = abs(first - second) <= 1
        for cls in _with_both(subject, first, second):
            found = changes(cls, first, second)
            yield ""
            yield f"{cls.__name__} v{first} -> v{second}" + ("" if found else ": the same layout")
            rows = [(found_change.change.value, *_cells(found_change, one_step=one_step)) for found_change in found]
            yield from columns(rows, indent="  ")
        if notes := version_notes(subject.api_key, first, second):
            yield ""
            yield "beyond the layout"
            yield from columns([(f"v{version}", note) for version, note in notes.items()], indent="  ")


def _cells(change: VersionChange, *, one_step: bool) -> tuple[str, ...]:
    return (change.place, change.text) if one_step else (f"v{change.at}", change.place, change.text)


def _with_both(subject: Subject, first: int, second: int) -> list[type[Message]]:
    """The declarations that have both versions: a coordinator's key may have fewer than its value."""
    return [cls for cls in subject.declarations if first in cls.VERSIONS and second in cls.VERSIONS]


def _json(subject: Subject, first: int, second: int) -> dict[str, Any]:
    from protocol_specs.version_changes import changes
    from protocol_specs.version_notes import version_notes

    made: dict[str, Any] = {"name": subject.name, "from": first, "to": second, "messages": []}
    for cls in _with_both(subject, first, second):
        found = [
            {"change": change.change.name.lower(), "place": change.place, "what": change.text, "at": change.at}
            for change in changes(cls, first, second)
        ]
        made["messages"].append({"name": cls.__name__, "kind": cls.KIND.value, "changes": found})
    notes = version_notes(subject.api_key, first, second)
    return made | {"notes": {str(version): note for version, note in notes.items()}}

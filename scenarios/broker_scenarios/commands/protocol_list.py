"""`broker-sim protocol list`: every API and schema, or those that the brokers of one release list. Mirrors ApiKeys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.api_key import ApiKey, Served

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from protocol_specs.lookup import Subject
    from protocol_specs.releases import Mode, Release

NOTES_WIDTH_MIN: Final = 20


def add(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser("list", help="list every API, or those of a release, or the other schemas")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--schemas", action="store_true", help="headers, record and snapshot schemas instead of APIs")
    what.add_argument("--release", metavar="RELEASE", help="what brokers of this release list, such as 3.7 or 4.3.1")
    parser.add_argument("--mode", choices=("zk", "kraft"), help="with --release: kraft where a release has both")
    parser.add_argument("--json", action="store_true", help="JSON for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the list; raises UnknownRelease."""
    import json

    from broker_scenarios.commands.result_lines import print_lines
    from broker_scenarios.errors import ScenarioError
    from protocol_specs import releases
    from protocol_specs.releases import Mode

    if options.mode and not options.release:
        raise ScenarioError("--mode selects tables of a release: give --release RELEASE too")
    release = releases.get(options.release, Mode(options.mode) if options.mode else None) if options.release else None
    if options.json:
        made = _schemas_json() if options.schemas else _apis_json(release)
        print_lines([json.dumps(made, indent=1)])
    elif options.schemas:
        print_lines(_schema_lines())
    else:
        print_lines(_release_lines(release) if release else _api_lines())
    return 0


def _api_lines() -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns
    from protocol_specs import lookup, releases
    from protocol_specs.layout import versions_text

    newest = releases.get(releases.names()[-1])
    rows: list[tuple[str, ...]] = [("key", "name", "versions", "flex", "broker", "ctrl", "served", "notes")]
    for key in ApiKey:
        subject = lookup.api(key)
        cls = subject.declarations[0]
        flexible = versions_text(cls.FLEXIBLE.intersection(cls.VERSIONS), cls.VERSIONS.highest)
        listed = [str(table.api_versions.get(key, "-")) for table in newest.listeners.values()]
        rows.append((f"{key:>3}", subject.name, str(cls.VERSIONS), flexible, *listed, _served(key), _notes(subject)))
    yield from columns(rows, last_width_min=NOTES_WIDTH_MIN)
    yield ""
    yield f"broker, ctrl: the versions that broker and controller listeners of Kafka {newest.name} list"
    yield "served: by brokers (B) or controllers (C) of the simulator; a dash means that no node does"


def _served(key: ApiKey) -> str:
    return "".join(str(node.name)[0] for node in Served.BOTH if node in key.facts.served) or "-"


def _notes(subject: Subject) -> str:
    from protocol_specs import release_history, releases

    assert subject.api_key is not None
    cls = subject.declarations[0]
    parts = []
    if cls.UNSTABLE:
        parts.append(f"v{cls.UNSTABLE} unstable")
    if earlier := subject.api_key.facts.earlier_names:
        parts.append(f"once {', '.join(earlier)}")
    listing = [row for row in release_history.rows(subject.api_key) if row.versions]
    if not listing:
        parts.append("not listed by default")
    elif listing[-1].release != releases.names()[-1]:
        parts.append(f"until {listing[-1].release}")
    return "; ".join(parts)


def _release_lines(release: Release) -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns

    source = "as its broker responded" if release.observed else "from its sources, as it has no ApiVersions"
    yield f"Kafka {release.name}, {_mode_name(release.mode)}, {source}"
    yield ""
    listeners = list(release.listeners)
    rows = [("key", "name", *listeners)]
    for key in sorted({key for table in release.listeners.values() for key in table.api_versions}):
        tables = [release.listeners[listener].api_versions for listener in listeners]
        rows.append((f"{key:>3}", key.api_name, *(str(table.get(key, "-")) for table in tables)))
    yield from columns(rows)


def _mode_name(mode: Mode) -> str:
    return "ZooKeeper mode" if mode.value == "zk" else "KRaft mode"


def _schema_lines() -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns
    from protocol_specs import lookup

    families: dict[str, list[Subject]] = {}
    for subject in lookup.schemas():
        families.setdefault(subject.family, []).append(subject)
    for number, (family, subjects) in enumerate(families.items()):
        if number:
            yield ""
        records = subjects[0].declarations[0].RECORD_TYPE >= 0
        yield f"records of {'the ' if family == 'metadata log' else ''}{family}" if records else family
        rows = [("type" if records else "", "name", "versions", "what")]
        rows += [_schema_row(subject) for subject in sorted(subjects, key=lambda s: s.declarations[0].RECORD_TYPE)]
        yield from columns(rows if records else [row[1:] for row in rows], indent="  ")


def _schema_row(subject: Subject) -> tuple[str, str, str, str]:
    cls, *others = subject.declarations
    versions = str(cls.VERSIONS)
    if others and cls.KIND.value == "coordinator_key":
        versions = f"key {cls.VERSIONS}, value {others[0].VERSIONS}"
    elif others:
        versions = f"request {cls.VERSIONS}, response {others[0].VERSIONS}"
    return f"{cls.RECORD_TYPE:>4}", subject.name, versions, subject.summary.partition(": ")[2].removesuffix(".")


def _apis_json(release: Release | None) -> list[dict[str, Any]]:
    from protocol_specs import lookup, releases

    tables = (release or releases.get(releases.names()[-1])).listeners
    made = []
    for key in ApiKey:
        listed = {
            who: _bounds(table.api_versions.get(key)) for who, table in tables.items() if key in table.api_versions
        }
        if release is not None and not listed:
            continue
        subject = lookup.api(key)
        cls = subject.declarations[0]
        made.append(
            {
                "api_key": key,
                "name": subject.name,
                "earlier_names": list(key.facts.earlier_names),
                "versions": str(cls.VERSIONS),
                "flexible_versions": str(cls.FLEXIBLE),
                "unstable_versions": str(cls.UNSTABLE),
                "listed": listed,
                "served": [str(node.name).lower() for node in Served.BOTH if node in key.facts.served],
                "summary": subject.summary,
            }
        )
    return made


def _bounds(versions: Any) -> list[int]:
    return [versions.lowest, versions.highest]


def _schemas_json() -> list[dict[str, Any]]:
    from protocol_specs import lookup

    return [
        {
            "name": cls.__name__,
            "kind": cls.KIND.value,
            "record_type": cls.RECORD_TYPE if cls.RECORD_TYPE >= 0 else None,
            "versions": str(cls.VERSIONS),
            "flexible_versions": str(cls.FLEXIBLE),
            "summary": subject.summary,
        }
        for subject in lookup.schemas()
        for cls in subject.declarations
    ]

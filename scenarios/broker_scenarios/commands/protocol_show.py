"""`broker-sim protocol show`: the fields of a message over all versions, or the bytes of one version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from protocol_specs.layout import FieldRow
    from protocol_specs.lookup import Subject
    from protocol_specs.message import Message


def add(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser("show", help="show the fields of a message, or the bytes of one version")
    parser.add_argument("name", metavar="NAME", help="an API by name or key, one side of it, or another schema")
    parser.add_argument("--version", metavar="N", help="this version alone, in the order of its bytes")
    parser.add_argument("--kind", choices=("request", "response"), help="one side of an API alone")
    parser.add_argument("--json", action="store_true", help="JSON for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the message; raises UnknownApi and UnsupportedVersion."""
    import json

    from broker_scenarios.commands.result_lines import print_lines
    from protocol_specs import lookup

    subject = sided(lookup.find(options.name), options.kind)
    version = None if options.version is None else lookup.check_version(subject, options.version)
    if options.json:
        print_lines([json.dumps(_json(subject, version), indent=1)])
    else:
        print_lines(_lines(subject) if version is None else _version_lines(subject, version))
    return 0


def sided(subject: Subject, kind: str | None) -> Subject:
    """The subject with the declarations of one kind alone; refuses a kind that it does not have."""
    from dataclasses import replace

    from broker_scenarios.errors import ScenarioError

    if kind is None:
        return subject
    kept = tuple(cls for cls in subject.declarations if cls.KIND.value == kind)
    if not kept:
        kinds = dict.fromkeys(cls.KIND.value for cls in subject.declarations)
        raise ScenarioError(f"--kind {kind}: {subject.name} is no {kind}, its kind is {' or '.join(kinds)}")
    return replace(subject, declarations=kept)


def _lines(subject: Subject) -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns, paragraph
    from protocol_specs.layout import field_rows

    for text in (subject.summary, *subject.details):
        yield from paragraph(text)
    yield ""
    yield from columns(_facts(subject))
    for cls in subject.declarations:
        yield ""
        rows = field_rows(cls)
        yield cls.__name__ if rows else f"{cls.__name__} has no fields"
        if rows:
            heads = ("field", "type", "versions", "notes")
            cells = [
                ("  " * row.depth + row.name, row.type_name, row.versions_text, ", ".join(row.notes)) for row in rows
            ]
            yield from columns([heads, *cells], indent="  ")


def _facts(subject: Subject) -> list[tuple[str, str]]:
    from protocol_specs import release_history, releases

    facts = [(_of_which("versions", cls, subject), _versions(cls)) for cls in subject.declarations]
    if len({text for _, text in facts}) == 1:
        facts = [("versions", facts[0][1])]
    if subject.api_key is None:
        return facts
    for cls in subject.declarations:
        facts.append((f"{cls.KIND.value} header", header_text(cls)))
    if earlier := subject.api_key.facts.earlier_names:
        facts.append(("once named", ", ".join(earlier)))
    newest = next(reversed(release_history.rows(subject.api_key)))
    listed = [f"{who} {versions}" for who, versions in newest.versions.items()]
    facts.append((f"in {releases.names()[-1]}", ", ".join(listed) or "not listed by default"))
    return facts


def _of_which(fact: str, cls: type[Message], subject: Subject) -> str:
    return fact if len(subject.declarations) == 1 else f"{fact} of {cls.__name__}"


def _versions(cls: type[Message]) -> str:
    flexible = cls.FLEXIBLE.intersection(cls.VERSIONS)
    facts = [str(cls.VERSIONS), f"flexible from {flexible.lowest}" if flexible else "never flexible"]
    if cls.UNSTABLE:
        facts.append(f"unstable {cls.UNSTABLE}")
    return ", ".join(facts)


def header_text(cls: type[Message]) -> str:
    """Describe the header of each version: `1 before v0-8, 2 before v9-13`."""
    from protocol_specs.layout import header_version
    from protocol_specs.version_range import VersionRange

    spans: dict[int | None, VersionRange] = {}
    for version in cls.VERSIONS:
        header = header_version(cls, version)
        lowest = spans[header].lowest if header in spans else version
        spans[header] = VersionRange(lowest, version)
    return ", ".join(f"{header} before v{versions}" for header, versions in spans.items())


def _version_lines(subject: Subject, version: int) -> Iterator[str]:
    from broker_scenarios.commands.text_columns import columns, paragraph
    from protocol_specs.version_notes import version_note
    from protocol_specs.wire_layout import legend, stands_after, wire_parts

    yield from paragraph(subject.summary)
    if note := version_note(subject.api_key, version):
        yield from paragraph(f"v{version}: {note}.")
    everything = []
    for cls in subject.declarations:
        if version not in cls.VERSIONS:
            continue
        parts = wire_parts(cls, version)
        everything += parts
        yield ""
        facts = [f"{cls.__name__} v{version}", "flexible" if cls.is_flexible(version) else "not flexible"]
        if version in cls.UNSTABLE:
            facts.append("unstable")
        if (before := stands_after(cls, version)) is not None:
            facts.append(f"after {before}")
        yield from paragraph(", ".join(facts) + ("" if parts else ": no bytes"))
        tags = [f"tag {part.tag}: " if part.tag is not None else "" for part in parts]
        yield from columns(
            [("  " * part.depth + tag + part.name, part.text) for part, tag in zip(parts, tags, strict=True)],
            indent="  ",
        )
    if meanings := legend(everything):
        yield ""
        yield "where"
        yield from columns(meanings, indent="  ")


def _json(subject: Subject, version: int | None) -> dict[str, Any]:
    from protocol_specs.version_notes import version_note

    made: dict[str, Any] = {"name": subject.name}
    if subject.api_key is not None:
        made |= {"api_key": subject.api_key, "earlier_names": list(subject.api_key.facts.earlier_names)}
    if version is not None and (note := version_note(subject.api_key, version)):
        made["note"] = note
    made |= {"summary": subject.summary, "details": list(subject.details), "messages": []}
    for cls in subject.declarations:
        if version is None or version in cls.VERSIONS:
            made["messages"].append(_message_json(cls, version))
    return made


def _message_json(cls: type[Message], version: int | None) -> dict[str, Any]:
    from protocol_specs.layout import field_rows, header_version
    from protocol_specs.wire_layout import stands_after, wire_parts

    made: dict[str, Any] = {"name": cls.__name__, "kind": cls.KIND.value}
    if version is None:
        return made | {
            "versions": str(cls.VERSIONS),
            "flexible_versions": str(cls.FLEXIBLE),
            "unstable_versions": str(cls.UNSTABLE),
            "fields": [_field_json(row) for row in field_rows(cls)],
        }
    parts = [
        {"name": part.name, "depth": part.depth, "encoding": part.encoding, "element": part.element, "tag": part.tag}
        for part in wire_parts(cls, version)
    ]
    made |= {"version": version, "flexible": cls.is_flexible(version), "header_version": header_version(cls, version)}
    return made | {"after": stands_after(cls, version), "layout": parts}


def _field_json(row: FieldRow) -> dict[str, Any]:
    from protocol_specs.layout import default_text

    made: dict[str, Any] = {"path": row.place, "type": row.type_name, "versions": row.versions_text}
    if row.nullable:
        made["nullable_versions"] = str(row.nullable)
    if row.tagged:
        made |= {"tag": row.field.tag, "tagged_versions": str(row.tagged)}
    if (default := default_text(row.field)) is not None:
        made["default"] = default
    made |= {name: True for name in ("ignorable", "map_key") if getattr(row.field, name)}
    return made | ({"entity": row.field.entity} if row.field.entity else {})
